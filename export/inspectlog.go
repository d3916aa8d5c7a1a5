package export

// The parts of Inspect's log format that we write (schema version 2), with every
// field that its viewer's schema requires.

const logVersion = 2

type empty struct{}

type journalStart struct {
	Version int      `json:"version"`
	Eval    evalSpec `json:"eval"`
	Plan    evalPlan `json:"plan"`
}

type evalHeader struct {
	Version     int         `json:"version"`
	Status      string      `json:"status"`
	Eval        evalSpec    `json:"eval"`
	Plan        evalPlan    `json:"plan"`
	Results     evalResults `json:"results"`
	Stats       evalStats   `json:"stats"`
	Error       *evalError  `json:"error,omitempty"`
	Invalidated bool        `json:"invalidated"`
	Tags        []string    `json:"tags"`
	Metadata    any         `json:"metadata"`
}

type evalSpec struct {
	EvalID              string            `json:"eval_id"`
	RunID               string            `json:"run_id"`
	Created             string            `json:"created"`
	Task                string            `json:"task"`
	TaskID              string            `json:"task_id"`
	TaskVersion         int               `json:"task_version"`
	TaskAttribs         any               `json:"task_attribs"`
	TaskArgs            any               `json:"task_args"`
	TaskArgsPassed      any               `json:"task_args_passed"`
	Dataset             evalDataset       `json:"dataset"`
	Model               string            `json:"model"`
	ModelGenerateConfig any               `json:"model_generate_config"`
	ModelArgs           any               `json:"model_args"`
	Config              evalConfig        `json:"config"`
	Packages            map[string]string `json:"packages"`
	Metadata            map[string]any    `json:"metadata"`
}

type evalDataset struct {
	Name      string   `json:"name"`
	Location  string   `json:"location"`
	Samples   int      `json:"samples"`
	SampleIDs []string `json:"sample_ids"`
	Shuffled  bool     `json:"shuffled"`
}

// An evalConfig says of a failed sample that the others went on, and that the
// log is one with an error in the end.
type evalConfig struct {
	Epochs         int  `json:"epochs"`
	FailOnError    bool `json:"fail_on_error"`
	ContinueOnFail bool `json:"continue_on_fail"`
}

type evalPlan struct {
	Name   string     `json:"name"`
	Steps  []planStep `json:"steps"`
	Config any        `json:"config"`
}

type planStep struct {
	Solver       string `json:"solver"`
	Params       any    `json:"params"`
	ParamsPassed any    `json:"params_passed"`
}

func newPlan() evalPlan {
	return evalPlan{"plan", []planStep{{"spatialstale", empty{}, empty{}}}, empty{}}
}

type evalResults struct {
	TotalSamples     int         `json:"total_samples"`
	CompletedSamples int         `json:"completed_samples"`
	Scores           []evalScore `json:"scores"`
}

type evalScore struct {
	Name            string                `json:"name"`
	Scorer          string                `json:"scorer"`
	ScoredSamples   int                   `json:"scored_samples"`
	UnscoredSamples int                   `json:"unscored_samples"`
	Params          any                   `json:"params"`
	Metrics         map[string]evalMetric `json:"metrics"`
}

type evalMetric struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Params any     `json:"params"`
}

type evalStats struct {
	StartedAt              string   `json:"started_at"`
	CompletedAt            string   `json:"completed_at"`
	ModelUsage             any      `json:"model_usage"`
	RoleUsage              any      `json:"role_usage"`
	ConnectionLimitHistory []string `json:"connection_limit_history"`
}

type evalSample struct {
	ID          string            `json:"id"`
	Epoch       int               `json:"epoch"`
	Input       any               `json:"input"`
	Target      any               `json:"target"`
	Messages    []chatMessage     `json:"messages"`
	Output      modelOutput       `json:"output"`
	Scores      map[string]score  `json:"scores"`
	Metadata    map[string]any    `json:"metadata"`
	Store       any               `json:"store"`
	Events      []any             `json:"events"`
	ModelUsage  any               `json:"model_usage"`
	RoleUsage   any               `json:"role_usage"`
	StartedAt   string            `json:"started_at"`
	CompletedAt string            `json:"completed_at"`
	TotalTime   float64           `json:"total_time"`
	WorkingTime float64           `json:"working_time"`
	UUID        string            `json:"uuid"`
	Error       *evalError        `json:"error,omitempty"`
	Attachments map[string]string `json:"attachments"`

	sum   usageSum
	short string // the input in few words
}

type sampleSummary struct {
	ID         string           `json:"id"`
	Epoch      int              `json:"epoch"`
	Input      string           `json:"input"`
	Target     any              `json:"target"`
	Metadata   map[string]any   `json:"metadata"`
	Scores     map[string]score `json:"scores"`
	ModelUsage any              `json:"model_usage"`
	RoleUsage  any              `json:"role_usage"`
	TotalTime  float64          `json:"total_time"`
	Error      string           `json:"error,omitempty"`
	UUID       string           `json:"uuid"`
	Completed  bool             `json:"completed"`
}

type score struct {
	Value       any    `json:"value"`
	Answer      string `json:"answer,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	History     []any  `json:"history"`
}

type evalError struct {
	Message       string `json:"message"`
	Traceback     string `json:"traceback"`
	TracebackANSI string `json:"traceback_ansi"`
}

// newEvalError puts the message where Inspect has a traceback: its viewer shows
// nothing else of an error.
func newEvalError(message string) *evalError { return &evalError{message, message, message} }

type chatMessage struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or a list of contents
	Source  string `json:"source,omitempty"`
	Model   string `json:"model,omitempty"`
}

// A content is a text, a reasoning or an image. Its text is a pointer so that an
// empty one is written: a MarshalJSON would have the encoder go over all again.
type content struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Reasoning *string `json:"reasoning,omitempty"`
	Image     string  `json:"image,omitempty"`
	Detail    string  `json:"detail,omitempty"`
}

func textContent(s string) content      { return content{Type: "text", Text: &s} }
func reasoningContent(s string) content { return content{Type: "reasoning", Reasoning: &s} }

type modelOutput struct {
	Model      string   `json:"model"`
	Choices    []choice `json:"choices"`
	Completion string   `json:"completion"`
	Usage      *usage   `json:"usage,omitempty"`
	Time       float64  `json:"time,omitempty"`

	Metadata map[string]any `json:"metadata,omitempty"`
}

type choice struct {
	Message    chatMessage `json:"message"`
	StopReason string      `json:"stop_reason"`
	Logprobs   *logprobs   `json:"logprobs,omitempty"`
}

// logprobs are those of the tokens that gave verdicts, true and false, and of no
// others: a run keeps no more.
type logprobs struct {
	Content []tokenLogprob `json:"content"`
}

type tokenLogprob struct {
	Token   string         `json:"token"`
	Logprob float64        `json:"logprob"`
	Top     []tokenLogprob `json:"top_logprobs,omitempty"`
}

type usage struct {
	InputTokens           int  `json:"input_tokens"` // without those read from or written to a cache
	OutputTokens          int  `json:"output_tokens"`
	TotalTokens           int  `json:"total_tokens"`
	InputTokensCacheRead  *int `json:"input_tokens_cache_read,omitempty"`
	InputTokensCacheWrite *int `json:"input_tokens_cache_write,omitempty"`
	ReasoningTokens       *int `json:"reasoning_tokens,omitempty"`
}

// eventHead is what all events begin with.
type eventHead struct {
	Event        string  `json:"event"`
	UUID         string  `json:"uuid"`
	SpanID       string  `json:"span_id,omitempty"`
	Timestamp    string  `json:"timestamp"`
	WorkingStart float64 `json:"working_start"`
}

type spanBegin struct {
	eventHead
	ID       string `json:"id"`
	ParentID string `json:"parent_id,omitempty"`
	Type     string `json:"type"`
	Name     string `json:"name"`
}

type spanEnd struct {
	eventHead
	ID string `json:"id"`
}

type modelEvent struct {
	eventHead
	Model       string        `json:"model"`
	Input       []chatMessage `json:"input"`
	Tools       []any         `json:"tools"`
	ToolChoice  string        `json:"tool_choice"`
	Config      any           `json:"config"`
	Output      modelOutput   `json:"output"`
	WorkingTime float64       `json:"working_time"`
}

type infoEvent struct {
	eventHead
	Source string `json:"source"`
	Data   any    `json:"data"`
}

type scoreEvent struct {
	eventHead
	Scorer       string `json:"scorer"`
	Score        score  `json:"score"`
	Target       any    `json:"target"`
	Intermediate bool   `json:"intermediate"`
}

type errorEvent struct {
	eventHead
	Error evalError `json:"error"`
}
