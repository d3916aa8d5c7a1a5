package chat

import (
	"bytes"
	"context"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A stream gathers a completion that comes in pieces.
type stream struct {
	ctx context.Context
	req *llm.Request

	text, reasoning, refusal strings.Builder
	pieces                   int // of text or thinking, hardly more than tokens
	tokens                   []any
	finish                   string
	ended                    llm.Finish // by us; empty while it goes on
	done                     bool       // the server said so
	last                     map[string]any
	checked                  int // bytes of text that were looked through for repetition
}

func newStream(ctx context.Context, req *llm.Request) *provider.Stream {
	s := &stream{ctx: ctx, req: req, last: map[string]any{}}
	return &provider.Stream{Add: s.add, Whole: s.whole}
}

// add takes an event.
func (s *stream) add(data []byte) (piece, more bool) {
	if bytes.Equal(data, []byte("[DONE]")) {
		s.done = true
		return false, false
	}
	v, err := provider.Parse(data)
	if err != nil || !v.IsObject() {
		return false, true // a mark of some proxy, or a piece that is lost
	}
	for _, name := range []string{"model", "usage", "timings", "error"} {
		if v.At(name).IsSet() {
			s.last[name] = v.At(name).Raw()
		}
	}
	choice := v.At("choices", 0)
	delta := choice.At("delta")
	text, thinking, _ := content(delta.At("content"))
	if thinking == "" {
		thinking = delta.At("reasoning_content").Text()
	}
	if thinking == "" {
		thinking = delta.At("reasoning").Text()
	}
	s.text.WriteString(text)
	s.reasoning.WriteString(thinking)
	s.refusal.WriteString(delta.At("refusal").Text())
	if tokens, ok := choice.At("logprobs", "content").List(); ok {
		for _, t := range tokens {
			s.tokens = append(s.tokens, t.Raw())
		}
	}
	if word := choice.At("finish_reason").Text(); word != "" {
		s.finish = word
	}
	if s.last["error"] != nil {
		return false, false
	}
	if piece = text != "" || thinking != ""; piece {
		s.pieces++
		llm.TokenCame(s.ctx)
		s.ended = s.end(text)
	}
	return piece, s.ended == ""
}

// longToken is more bytes than the tokens of a text have on average.
const longToken = 8

// lookEvery is after how many bytes an answer is looked through for repetition.
const lookEvery = 256

// end says why the answer need not go on, "" where it must.
func (s *stream) end(added string) llm.Finish {
	if s.finish != "" { // what still comes are counts
		return ""
	}
	text := s.text.String()
	switch most := s.req.Params.MaxTokens; {
	case added != "" && s.req.Done != nil && s.req.Done(text):
		return llm.FinishDone
	case most != nil && s.pieces > *most && len(text)+s.reasoning.Len() > longToken**most:
		return llm.FinishLength // the server does not keep to the cap, however it cuts its pieces
	}
	if n := s.reasoning.Len() + len(text); n-s.checked >= lookEvery {
		s.checked = n
		if llm.Repeats(text) || llm.Repeats(s.reasoning.String()) {
			return llm.FinishRepeats
		}
	}
	return ""
}

// whole returns what came as a completion.
func (s *stream) whole() (*llm.Reply, error) {
	begun := s.pieces > 0 || s.refusal.Len() > 0
	if !s.done && s.finish == "" && s.ended == "" && s.last["error"] == nil {
		return nil, provider.Malformed("a stream that ended before the answer did")
	}
	message := map[string]any{"content": nil, "reasoning_content": s.reasoning.String(), "refusal": s.refusal.String()}
	if s.text.Len() > 0 {
		message["content"] = s.text.String()
	}
	choice := map[string]any{"message": message, "finish_reason": s.finish}
	if len(s.tokens) > 0 {
		choice["logprobs"] = map[string]any{"content": s.tokens}
	}
	if begun || s.finish != "" {
		s.last["choices"] = []any{choice}
	}
	reply, err := readCompletion(provider.ValueOf(s.last))
	if err == nil && s.ended != "" {
		reply.Finish = s.ended
	}
	return reply, err
}
