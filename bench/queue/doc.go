// Command queue measures what it costs that runs wait in a queue: how fast Kueue admits runs of bflow over many
// targets, how soon a GPU that was given back goes to the next, and how often the API servers are asked; beside plain
// batch/v1 Jobs that the same Kueue admits under the same quotas, in the same minutes.
//
// The hub has Kueue and bflow, and its Tekton controller is stopped meanwhile: an actor here ends every run, and every
// Job, as soon as it was let start, from when all of them wait and no more is written about that. The targets are slices
// of one cluster whose nodes kwok keeps alive. So nothing but queueing is in the figures. It must not know how bflow
// decides.
package main
