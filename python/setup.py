"""Makes a wheel of one platform when the program stands in spatialstale/bin, as
scripts/wheel puts it there, and a wheel of Python alone otherwise."""

import pathlib

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

CARRIES = (pathlib.Path(__file__).parent / "spatialstale" / "bin").is_dir()


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not CARRIES

    def get_tag(self):
        if not CARRIES:
            return super().get_tag()
        platform = super().get_tag()[2]
        # The program is static: it asks nothing of the system's C library.
        return "py3", "none", platform.replace("linux_", "manylinux_2_17_", 1)


setup(
    cmdclass={"bdist_wheel": Wheel},
    package_data={"spatialstale": ["bin/*"]} if CARRIES else {},
    # Without the program there is no command: it would call itself.
    entry_points={"console_scripts": ["spatialstale = spatialstale.binary:main"]} if CARRIES else {},
)
