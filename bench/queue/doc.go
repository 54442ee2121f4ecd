// Command queue measures the cost of queueing: how fast Kueue admits runs of bflow over many targets, how soon a
// released GPU goes to the next run, and how many requests the API servers get, compared with plain batch/v1 Jobs
// that the same Kueue admits under the same quotas at the same time.
//
// The hub has Kueue and bflow; its Tekton controller is stopped. An actor ends every run and every Job as soon as it
// is admitted, once all of them are queued and the controllers are idle. The targets are slices of one cluster whose
// nodes kwok simulates, so the figures contain nothing but queueing. It must not depend on how bflow decides.
package main
