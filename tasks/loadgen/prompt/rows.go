package prompt

// Rows are turns that a file or a trace describes. It is called while the load runs, by one goroutine: it must not
// block, and give the same answer whenever it is asked.
type Rows interface {
	// Turn describes a turn of a conversation, turns counted from 0; false when there is no such turn.
	Turn(session int64, turn int) (TurnSpec, bool)
}

// TurnSpec is what is known of a turn. What it leaves out is drawn as the data say.
type TurnSpec struct {
	In  int // tokens of the prompt; 0 = unknown
	Out int // tokens of the answer; 0 = unknown

	// Blocks name the content of the whole prompt, history included, by blocks of BlockTokens tokens: prompts that
	// begin with the same ids begin with the same text. In says where the last one ends; what of In they do not
	// cover is unique. The next call of Turn may overwrite them.
	Blocks []uint64

	// Messages is a JSON list of messages, the whole conversation up to this turn, sent as it is: without history,
	// prefix or images. Only where Source.Messages says so.
	Messages string

	Text   string // the prompt as it is; nothing is put before or behind it but a shared prefix
	Answer string // recorded: later turns have it in their history in place of the real one
	Last   bool   // no turn of the conversation follows
}
