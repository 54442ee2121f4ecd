package report

// FileSearch holds what a search found, and every level it tried; it lies in measurements/<n>/ where the plan has one.
const FileSearch = "search.json"

// FileRetried holds a line of stages.jsonl for every try at a stage that was invalid and measured again.
const FileRetried = "retried.jsonl"

// FileMLflow says which MLflow run holds the results, once they are there: its id and its page.
const FileMLflow = "mlflow/run.json"
