"""SpatialSTALE for Python.

``gymnasium.make("SpatialStale-L1-v0")`` (or L2, L3) plays one lake that changes
under a memory that does not; ``spatialstale.run(auditor=fn)`` runs a study with an
auditor of one's own; ``spatialstale.audit(memories, observation)`` keeps what is
stale out of an agent's memory; ``spatialstale.load(RUN)`` gives a run as data
frames. The rest of Python's world is imported only where it is used.
"""

from importlib.util import find_spec as _find_spec

from .binary import BinaryNotFound, find_binary
from .frames import Frames, load
from .omcd import Audit, AuditError, Verdict, audit
from .study import run

__all__ = ["Audit", "AuditError", "BinaryNotFound", "Frames", "Verdict", "audit", "find_binary", "load", "register", "run"]
__version__ = "0.1.0"

REGIMES = ("L1", "L2", "L3")


def register() -> None:
    """Registers SpatialStale-L1-v0, -L2-v0 and -L3-v0 with Gymnasium.

    Importing this package does it; a second time changes nothing.
    """
    from gymnasium.envs.registration import registry
    from gymnasium.envs.registration import register as add

    for regime in REGIMES:
        name = f"SpatialStale-{regime}-v0"
        if name not in registry:
            add(
                id=name,
                entry_point="spatialstale.env:SpatialStaleEnv",
                vector_entry_point="spatialstale.vector:SpatialStaleVectorEnv",
                kwargs={"regime": regime},
            )


if _find_spec("gymnasium") is not None:
    register()
