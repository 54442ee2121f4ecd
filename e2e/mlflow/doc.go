// Package mlflow tests pushes to a real MLflow server; the tests need -tags e2e and MLFLOW_PYTHON.
package mlflow
