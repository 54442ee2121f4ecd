// Package mlflow holds tests that push to a real MLflow server; they need -tags e2e and MLFLOW_PYTHON.
package mlflow
