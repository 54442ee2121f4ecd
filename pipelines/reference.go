package pipelines

// The five kinds of variable that our objects use, in Tekton's spelling.

func paramRef(name string) string           { return "$(params." + name + ")" }
func resultPath(name string) string         { return "$(results." + name + ".path)" }
func workspacePath(name string) string      { return "$(workspaces." + name + ".path)" }
func taskReason(task string) string         { return "$(tasks." + task + ".reason)" }
func taskResult(task, result string) string { return "$(tasks." + task + ".results." + result + ")" }
