package report

// FileSearch holds what a search found, and every level it tried; it lies in measurements/<n>/ where the plan has one.
const FileSearch = "search.json"

// FileRetried holds a line of stages.jsonl for every try at a stage that was invalid and measured again.
const FileRetried = "retried.jsonl"
