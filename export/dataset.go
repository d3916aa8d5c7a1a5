package export

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/parquet-go/parquet-go"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// Names of the files of a dataset. The pictures and MetadataName lie in
// ObservationsDir.
const (
	CardName            = "README.md"
	SumsName            = "SHA256SUMS"
	ObservationsDir     = "observations"
	MetadataName        = "metadata.jsonl"
	ObservationsParquet = "observations.parquet"
	EntriesName         = "entries.jsonl"
)

// Dataset writes instances to dir as a folder that other harnesses can use: the
// lakes, their changes and memories; of each detection window what an agent is
// shown, as text and as a picture; and of each memory entry in each window
// whether it is stale. Tables stand as JSON lines and as Parquet, and the layout
// is the one that Hugging Face's datasets library expects of an image dataset.
// docs/datasets.md describes every column.
//
// Radius is how far an agent sees, as in observe.State; the texts and pictures
// are what its prompts would hold.
//
// The same instances give the same bytes. It refuses when a file of a dataset
// is there already (the error wraps fs.ErrExist), and writes all or none; the
// sequence ends after its first error.
func Dataset(instances iter.Seq2[record.Instance, error], radius int, dir string) error {
	out, err := newOutput(dir, CardName, SumsName, InstancesName, ParquetName(InstancesName), ObservationsDir+"/", ObservationsParquet, EntriesName, ParquetName(EntriesName))
	if err != nil {
		return err
	}
	if err := writeDataset(instances, radius, out); err != nil {
		out.abandon()
		return explain(dir, err)
	}
	return out.finish()
}

// ReadDataset returns the instances of a dataset, after it has compared every
// file with the dataset's checksums. Its error says which file was changed, is
// missing or does not belong: the folders of the files that are listed hold
// nothing else, but for what is hidden, such as a .gitattributes.
func ReadDataset(dir string) ([]record.Instance, error) {
	if err := verifySums(dir); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, InstancesName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []record.Instance
	dec := json.NewDecoder(bufio.NewReader(f))
	dec.DisallowUnknownFields()
	for {
		var in datasetInstance
		if err := dec.Decode(&in); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: instance %d cannot be read: %w", f.Name(), len(all)+1, err)
		}
		all = append(all, in.instance())
	}
}

// verifySums compares the files of a folder with its list of checksums.
func verifySums(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, SumsName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no dataset: it has no %s; make one with: spatialstale dataset --out DIR", dir, SumsName)
	} else if err != nil {
		return err
	}
	listed := map[string]bool{SumsName: true}
	n := 0
	for line := range strings.Lines(string(list)) {
		if n++; strings.TrimSpace(line) == "" {
			continue
		}
		want, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		name = strings.TrimLeft(name, " *") // " NAME" or "*NAME", as sha256sum writes it
		want = strings.ToLower(want)
		if !ok || len(want) != 2*sha256.Size || !filepath.IsLocal(name) {
			return fmt.Errorf("%s: line %d is no checksum and file", filepath.Join(dir, SumsName), n)
		}
		name = path.Clean(name) // "./NAME", as find writes it
		sum, err := sumOf(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %s is missing; the dataset is not whole", dir, name)
		} else if err != nil {
			return err
		}
		if sum != want {
			return fmt.Errorf("%s: %s has been changed: its SHA-256 is %s, and %s says %s", dir, name, sum, SumsName, want)
		}
		listed[name] = true
	}
	if !listed[InstancesName] {
		return fmt.Errorf("%s: %s does not list %s", dir, SumsName, InstancesName)
	}
	return refuseAdded(dir, listed)
}

// refuseAdded returns an error for a file or a folder that is not among those
// that are listed and not hidden.
func refuseAdded(dir string, listed map[string]bool) error {
	folders := map[string]bool{}
	for name := range listed {
		for up := path.Dir(name); !folders[up]; up = path.Dir(up) {
			folders[up] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(folder)))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if !listed[name] && !folders[name] && !strings.HasPrefix(e.Name(), ".") {
				return fmt.Errorf("%s: %s does not belong to the dataset: %s does not list it; list it there, or move it elsewhere", dir, name, SumsName)
			}
		}
	}
	return nil
}

func sumOf(path string) (string, error) {
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() { // a pipe would be waited for
		return "", fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// observationLine is a line of the pictures' metadata.
type observationLine struct {
	FileName string     `json:"file_name"`
	Seed     int        `json:"seed"`
	Regime   string     `json:"regime"`
	Window   int        `json:"window"`
	Step     int        `json:"step"`
	Rows     []string   `json:"rows"`
	Agent    record.Pos `json:"agent"`
	Goal     record.Pos `json:"goal"`
	Text     string     `json:"text"`
	Stale    []string   `json:"stale"`
}

// The library takes a column for a picture only where all of it may be null.
type pictureRow struct {
	Bytes []byte `parquet:"bytes,optional"`
	Path  string `parquet:"path,optional"`
}

// observationFeatures tells Hugging Face's datasets library that the column
// image holds pictures, which have palettes: without a mode it would hand out
// their indices. It must then be told of every other column as well.
const observationFeatures = `{"info": {"features": {
  "image": {"mode": "RGB", "_type": "Image"},
  "seed": {"dtype": "int64", "_type": "Value"},
  "regime": {"dtype": "string", "_type": "Value"},
  "window": {"dtype": "int32", "_type": "Value"},
  "step": {"dtype": "int32", "_type": "Value"},
  "rows": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
  "agent": {"row": {"dtype": "int32", "_type": "Value"}, "col": {"dtype": "int32", "_type": "Value"}},
  "goal": {"row": {"dtype": "int32", "_type": "Value"}, "col": {"dtype": "int32", "_type": "Value"}},
  "text": {"dtype": "string", "_type": "Value"},
  "stale": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"}
}}}`

type observationRow struct {
	Image  *pictureRow `parquet:"image,optional"`
	Seed   int64       `parquet:"seed"`
	Regime string      `parquet:"regime,dict"`
	Window int32       `parquet:"window"`
	Step   int32       `parquet:"step"`
	Rows   []string    `parquet:"rows,list"`
	Agent  position    `parquet:"agent"`
	Goal   position    `parquet:"goal"`
	Text   string      `parquet:"text"`
	Stale  []string    `parquet:"stale,list"`
}

// entryLine is a memory entry in a window.
type entryLine struct {
	Seed     int        `json:"seed"`
	Size     string     `json:"size"`
	Regime   string     `json:"regime"`
	Window   int        `json:"window"`
	Step     int        `json:"step"`
	MemoryID string     `json:"memory_id"`
	Pos      record.Pos `json:"pos"`
	Claim    string     `json:"claim"`
	Text     string     `json:"text"`
	Visited  bool       `json:"visited"`
	Truth    bool       `json:"truth"`
}

type labelledEntryRow struct {
	Seed     int64    `parquet:"seed"`
	Size     string   `parquet:"size,dict"`
	Regime   string   `parquet:"regime,dict"`
	Window   int32    `parquet:"window"`
	Step     int32    `parquet:"step"`
	MemoryID string   `parquet:"memory_id,dict"`
	Pos      position `parquet:"pos"`
	Claim    string   `parquet:"claim,dict"`
	Text     string   `parquet:"text,dict"`
	Visited  bool     `parquet:"visited"`
	Truth    bool     `parquet:"truth"`
}

// A datasetWriter writes the tables of a dataset side by side.
type datasetWriter struct {
	out    *output
	line   line
	radius int

	instances    *parquetTable[instanceRow]
	observations *parquetTable[observationRow]
	entries      *parquetTable[labelledEntryRow]
	metadata     bytes.Buffer
	card         card
}

func writeDataset(instances iter.Seq2[record.Instance, error], radius int, out *output) error {
	w := &datasetWriter{
		out:          out,
		radius:       radius,
		card:         card{Radius: radius},
		instances:    newParquetTable[instanceRow](out, ParquetName(InstancesName)),
		observations: newParquetTable[observationRow](out, ObservationsParquet, parquet.KeyValueMetadata("huggingface", observationFeatures)),
		entries:      newParquetTable[labelledEntryRow](out, ParquetName(EntriesName)),
	}
	for in, err := range instances {
		if err == nil {
			err = w.instance(&in)
		}
		if err != nil {
			return err
		}
	}
	if err := errors.Join(w.instances.close(), w.observations.close(), w.entries.close()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out.hidden, ObservationsDir, MetadataName), w.metadata.Bytes(), 0o666); err != nil {
		return err
	}
	text, err := w.card.render()
	if err != nil {
		return err
	}
	if err := out.write(CardName, text); err != nil {
		return err
	}
	if err := out.flush(); err != nil {
		return err
	}
	return w.sums()
}

// sums lists the checksums of all files written so far.
func (w *datasetWriter) sums() error {
	var names []string
	err := fs.WalkDir(os.DirFS(w.out.hidden), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != SumsName {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		sum, err := sumOf(filepath.Join(w.out.hidden, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if err := w.out.write(SumsName, []byte(sum+"  "+name+"\n")); err != nil {
			return err
		}
	}
	return nil
}

func (w *datasetWriter) instance(in *record.Instance) error {
	if err := w.out.write(InstancesName, w.line.instance(in)); err != nil {
		return err
	}
	if err := w.instances.add(newInstanceRow(in)); err != nil {
		return err
	}
	windows, err := windowsOf(in)
	if err != nil {
		return fmt.Errorf("instance of seed %d, %s: %w", in.Seed, in.Regime, err)
	}
	w.card.count(in, windows)
	for i := range windows {
		if err := w.window(in, i, &windows[i]); err != nil {
			return err
		}
	}
	return nil
}

// A datasetWindow is one state of the lake in which a memory is audited.
type datasetWindow struct {
	step int
	grid lake.Grid
}

// stale reports whether an entry of the instance's memory no longer holds.
func (w *datasetWindow) stale(in *record.Instance, m *record.MemoryEntry) bool {
	remembered := in.Rows[m.Pos[0]][m.Pos[1]] == byte(lake.Hole)
	return w.grid.IsHole(lake.Pos{Row: m.Pos[0], Col: m.Pos[1]}) != remembered
}

// windowsOf returns an instance's detection windows: one after the changes for
// L1 and L2, one after each event for L3.
func windowsOf(in *record.Instance) ([]datasetWindow, error) {
	if len(in.Events) == 0 {
		g, err := lake.Parse(in.RowsAfter)
		return []datasetWindow{{0, g}}, err
	}
	g, err := lake.Parse(in.Rows)
	if err != nil {
		return nil, err
	}
	var windows []datasetWindow
	for _, e := range in.Events {
		for _, f := range e.Flips {
			g.SetHole(lake.Pos{Row: f.Pos[0], Col: f.Pos[1]}, f.To == lake.Hole.String())
		}
		windows = append(windows, datasetWindow{e.Step, g})
	}
	return windows, nil
}

func (w *datasetWriter) window(in *record.Instance, index int, win *datasetWindow) error {
	state := observe.State{Grid: win.grid, Agent: win.grid.Start(), Radius: w.radius}
	png, err := observe.EncodePNG(observe.Render(&state, nil))
	if err != nil {
		return err
	}
	size := sizeOf(in)
	name := fmt.Sprintf("seed%04d-%s-%s-window%d.png", in.Seed, size, in.Regime, index)
	if err := os.WriteFile(filepath.Join(w.out.hidden, ObservationsDir, name), png, 0o666); err != nil {
		return err
	}
	goal := win.grid.Goal()
	o := observationLine{
		FileName: name, Seed: in.Seed, Regime: in.Regime, Window: index, Step: win.step, Rows: win.grid.Rows(),
		Agent: record.Pos{}, Goal: record.Pos{goal.Row, goal.Col}, Text: state.Listing() + state.Where(), Stale: []string{},
	}
	for i := range in.Memory {
		m := &in.Memory[i]
		stale := win.stale(in, m)
		if stale {
			o.Stale = append(o.Stale, m.ID)
		}
		e := entryLine{in.Seed, size, in.Regime, index, win.step, m.ID, m.Pos, m.Claim, m.Text, m.Visited, stale}
		if err := w.entry(&e); err != nil {
			return err
		}
	}
	if err := encodeLine(&w.metadata, o); err != nil {
		return err
	}
	return w.observations.add(observationRow{
		Image: &pictureRow{png, name}, Seed: int64(o.Seed), Regime: o.Regime, Window: int32(index), Step: int32(o.Step),
		Rows: o.Rows, Agent: newPosition(o.Agent), Goal: newPosition(o.Goal), Text: o.Text, Stale: o.Stale,
	})
}

func (w *datasetWriter) entry(e *entryLine) error {
	var b bytes.Buffer
	if err := encodeLine(&b, e); err != nil {
		return err
	}
	if err := w.out.write(EntriesName, b.Bytes()); err != nil {
		return err
	}
	return w.entries.add(labelledEntryRow{
		Seed: int64(e.Seed), Size: e.Size, Regime: e.Regime, Window: int32(e.Window), Step: int32(e.Step), MemoryID: e.MemoryID,
		Pos: newPosition(e.Pos), Claim: e.Claim, Text: e.Text, Visited: e.Visited, Truth: e.Truth,
	})
}

func encodeLine(to io.Writer, v any) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func sizeOf(in *record.Instance) string { return fmt.Sprintf("%dx%d", len(in.Rows), len(in.Rows[0])) }

//go:embed card.md.tmpl
var cardText string

var cardTemplate = template.Must(template.New("card").Parse(cardText))

// A card is what the data card tells of the instances.
type card struct {
	Seeds, Regimes, Sizes              []string
	Instances, Windows, Entries, Stale int
	Radius                             int // how far an agent sees; 0 when all of the lake
}

func (c *card) count(in *record.Instance, windows []datasetWindow) {
	add := func(list *[]string, v string) {
		if !slices.Contains(*list, v) {
			*list = append(*list, v)
		}
	}
	add(&c.Seeds, fmt.Sprint(in.Seed))
	add(&c.Regimes, in.Regime)
	add(&c.Sizes, sizeOf(in))
	c.Instances++
	c.Windows += len(windows)
	c.Entries += len(windows) * len(in.Memory)
	for i := range windows {
		for k := range in.Memory {
			if windows[i].stale(in, &in.Memory[k]) {
				c.Stale++
			}
		}
	}
}

func (c *card) render() ([]byte, error) {
	var b bytes.Buffer
	err := cardTemplate.Execute(&b, c)
	return b.Bytes(), err
}
