package sim

import (
	"encoding/json"
	"slices"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/wire"
)

// exchange is one request and its short answer.
type exchange struct {
	*conn
	req   *wire.Request
	ans   wire.Answer
	route string

	arrival, read int64 // of the first byte, monotonic
}

func duration(ns int64) time.Duration { return time.Duration(ns) }

// write sends a whole answer and returns whether that went well.
func (x *exchange) write(b []byte) bool {
	x.out.wait()
	_, err := x.nc.Write(b)
	return err == nil
}

func (x *exchange) plain(status int, contentType string, body []byte) bool {
	return x.write(x.ans.Plain(status, contentType, body))
}

func (x *exchange) json(v any) bool {
	body, err := json.Marshal(v)
	if err != nil {
		return x.fail(500, "", err.Error())
	}
	return x.write(x.ans.JSON(200, body))
}

func (x *exchange) fail(status int, param, message string) bool {
	return x.write(x.ans.JSON(status, x.ans.Error(status, param, message)))
}

// servedModels returns the names of the models that are served now.
func (s *Server) servedModels() []string {
	if _, wrong := s.faults.server(runplan.FaultWrongModel, s.clock.Now()); !wrong {
		return s.cfg.Models
	}
	var names []string
	for _, name := range s.cfg.Models {
		names = append(names, name+"-wrong")
	}
	return names
}

// modelName returns the name to answer with for a request that asks for name; false = it is not served.
func (s *Server) modelName(name string) (string, bool) {
	served := s.servedModels()
	if name == "" {
		return served[0], true
	}
	return name, slices.Contains(served, name)
}

type modelCard struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Root        string `json:"root"`
	MaxModelLen int    `json:"max_model_len"`
}

func (x *exchange) models() bool {
	s := x.srv
	list := struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{Object: "list"}
	for _, name := range s.servedModels() {
		list.Data = append(list.Data, modelCard{
			ID: name, Object: "model", Created: wire.Started(s.clock.Wall(s.begun)), OwnedBy: "sim",
			Root: s.cfg.Models[0], MaxModelLen: s.cfg.MaxModelLen,
		})
	}
	return x.json(list)
}

// tokenize answers in the shape of vLLM, or to the inputs of TGI in its own.
func (x *exchange) tokenize() bool {
	p, err := wire.ParseTokenize(x.req.Body)
	if err != nil {
		return x.invalid(err)
	}
	if name, ok := x.srv.modelName(p.Model); !ok {
		return x.unknownModel(name)
	}
	ids := p.Tokens()
	if p.API == wire.TGI {
		return x.json(tgiTokens(ids))
	}
	return x.json(map[string]any{
		"count": len(ids), "max_model_len": x.srv.cfg.MaxModelLen, "tokens": ids, "token_strs": nil,
	})
}

func (x *exchange) unknownModel(name string) bool {
	return x.fail(404, "model", "The model "+quoted(name)+" does not exist.")
}

func quoted(name string) string { return "`" + name + "`" }

// invalid answers a body that cannot be used.
func (x *exchange) invalid(err error) bool {
	param, message := invalidParam(err)
	return x.fail(400, param, message)
}

// tritonModel answers what Triton says of a model: whether it is ready, or its metadata.
func (x *exchange) tritonModel(model, verb string) bool {
	x.ans.API = wire.Triton
	name, ok := x.srv.modelName(model)
	switch {
	case !ok:
		return x.fail(400, "", "Request for unknown model: '"+name+"' is not found")
	case verb == "ready":
		return x.plain(200, "text/plain", nil)
	case verb == "":
		return x.json(map[string]any{"name": name, "versions": []string{"1"}, "platform": "vllm"})
	}
	return x.fail(404, "", "no endpoint GET "+x.req.Path)
}

// info answers in the shape of TGI.
func (x *exchange) info() bool {
	limit := x.srv.cfg.MaxModelLen
	return x.json(map[string]any{
		"model_id": x.srv.servedModels()[0], "max_input_tokens": limit - 1, "max_total_tokens": limit,
		"max_concurrent_requests": 4096, "version": "3.3.7+sim", "router": "text-generation-router",
	})
}

type tgiToken struct {
	ID    int    `json:"id"`
	Text  string `json:"text"`
	Start int    `json:"start"`
	Stop  int    `json:"stop"`
}

// tgiTokens lists tokens; where they lie in the text is not told.
func tgiTokens(ids []int) []tgiToken {
	list := make([]tgiToken, len(ids))
	for i, id := range ids {
		list[i] = tgiToken{ID: id}
	}
	return list
}
