package credential

import (
	"net/url"
	"strings"
	"testing"
)

func TestNamesOfSecretsAreKnownHoweverTheyAreSpelt(t *testing.T) {
	for _, name := range strings.Fields(`Authorization Proxy-Authorization proxy_authorization Cookie Set-Cookie X-Api-Key X-API-KEY x_api_key xApiKey
		api-key api_key apikey APIKEY apiKey openai-api-key OPENAI_API_KEY Ocp-Apim-Subscription-Key x-goog-api-key CF-Access-Client-Secret
		X-Auth-Token X-Amz-Security-Token X-Amz-Signature X-Amz-Credential token hf_token HF_TOKEN HUGGING_FACE_HUB_TOKEN access_token
		accessToken GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN AZURE_CLIENT_SECRET DB_PASSWORD password passwd
		client_secret bearer_token AZURE_STORAGE_KEY WANDB_KEY private_key SSH_PRIVATE_KEY --api-key --hf-token x-auth basic_auth DB_PWD REDIS_PASS
		JWT BFLOW_API_KEY BFLOW_API_KEY_FILE MLFLOW_TRACKING_TOKEN MLFLOW_TRACKING_PASSWORD credentials GOOGLE_APPLICATION_CREDENTIALS`) {
		if !Name(name) {
			t.Errorf("%s is not known", name)
		}
	}
}

func TestWordsOfTheTradeAreNoSecrets(t *testing.T) {
	for _, name := range strings.Fields(`max_tokens min_tokens prompt_tokens maxTokens tokenizer TOKENIZERS_PARALLELISM tokenizer_mode token_count token-source
		first_token time_to_first_token time_per_output_token latency_per_token eos_token pad_token ignore_eos keep-alive key key_frames prefix_cache_key
		monkey keyboard session_id_header_key PWD OLDPWD PATH HOME author authority enable_auth --use-server-token run_key X-Request-Id CF-Access-Client-Id model user organization content-type
		VLLM_USE_V1 CUDA_VISIBLE_DEVICES NCCL_DEBUG pass setup-key sort_key compass bypass secretary`) {
		if Name(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
	if Name("") || Name("--") {
		t.Error("a name without words is taken for a secret")
	}
}

func TestAnAddressIsShownWithoutItsSecrets(t *testing.T) {
	for _, row := range []struct{ name, address, want string }{
		{"parameters parted as others do", "https://h.example/?a=1;key=s3cret&b=2", "https://h.example/?a=1;key=xxxxx&b=2"},
		{"a user and a password", "https://me:s3cret@h.example/v1", "https://h.example/v1"},
		{"a token as the user", "https://s3cret@h.example/v1", "https://h.example/v1"},
		{"a key of Google", "https://h.example/v1?alt=sse&key=s3cret", "https://h.example/v1?alt=sse&key=xxxxx"},
		{"a key of Azure", "https://h.example/v1?api-version=1&api-key=s3cret",
			"https://h.example/v1?api-version=1&api-key=xxxxx"},
		{"an address that is signed", "https://s3.example/o?X-Amz-Signature=s3cret&X-Amz-Date=1",
			"https://s3.example/o?X-Amz-Signature=xxxxx&X-Amz-Date=1"},
		{"an address with access", "https://b.example/o?sv=1&sig=s3cret", "https://b.example/o?sv=1&sig=xxxxx"},
		{"a name that is escaped", "https://h.example/?%6bey=s3cret", "https://h.example/?%6bey=xxxxx"},
		{"a fragment, which no server gets", "https://h.example/v1#access_token=s3cret", "https://h.example/v1"},
		{"nothing secret", "https://h.example/v1?max_tokens=5", "https://h.example/v1?max_tokens=5"},
		{"a key without a value", "https://H.example/v1?key=&a", "https://H.example/v1?key=&a"},
		{"no address", "http://[s3cret", "xxxxx"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := URL(row.address); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if holds := strings.Contains(row.address, "s3cret"); InURL(row.address) != holds {
				t.Errorf("holds a secret: %v", !holds)
			}
		})
	}
}

func FuzzTheSecretOfAnAddressIsNeverShown(f *testing.F) {
	f.Add("key", "/v1", "a=b")
	f.Fuzz(func(t *testing.T, name, path, rest string) {
		const secret = "s3cr3t-0f-n0b0dy"
		if !Parameter(name) || strings.Contains(path+rest, secret) {
			t.Skip()
		}
		shown := URL("https://" + secret + "@h.example/" + url.PathEscape(path) + "?" + rest + "&" +
			url.QueryEscape(name) + "=" + secret)
		if strings.Contains(shown, secret) {
			t.Errorf("shown as %q", shown)
		}
	})
}
