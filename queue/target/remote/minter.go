package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	mintTimeout          = 15 * time.Second // for one token
	mintsAtATime         = 8
	failedMintRetryDelay = 5 * time.Second  // after a failure
	minTokenLifetime     = 10 * time.Minute // what an API server gives at least
)

// minter makes the tokens of runs, each in the background: whoever asks never waits for the target.
type minter struct {
	ctx   context.Context // nothing is asked for when it has ended
	name  string
	hub   string // its identity
	live  client.Client
	files map[string][]byte // what lies beside the token
	clock clock.PassiveClock
	slots chan struct{}

	asking sync.WaitGroup // a goroutine for each token

	mu       sync.Mutex
	ended    bool
	runs     map[types.UID]*minted
	accounts map[string]types.UID // by namespace: whose tokens they are
}

var _ target.Accessor = (*minter)(nil)

// minted is what is known of the token of a run.
type minted struct {
	namespace string
	over      bool // revoked: no token is handed out any more
	grant     target.Grant
	renew     time.Time
	busy      bool
	failed    time.Time
	err       error
}

func newMinter(ctx context.Context, c target.Credentials, live client.Client, clk clock.PassiveClock) *minter {
	files := map[string][]byte{contract.KeyKubeconfig: c.Kubeconfig}
	for key, content := range map[string][]byte{contract.KeyCA: c.CA, contract.KeyNodes: []byte(c.Nodes),
		contract.KeyLoadNodes: []byte(c.LoadNodes)} {
		if len(content) > 0 {
			files[key] = content
		}
	}
	return &minter{ctx: ctx, name: c.Target, hub: c.Hub, live: live, files: files, clock: clk,
		slots: make(chan struct{}, mintsAtATime), runs: map[types.UID]*minted{}, accounts: map[string]types.UID{}}
}

// Access returns the token of a run until half of its life is over, and then another one.
func (m *minter) Access(ask target.Ask) (target.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, known := m.clock.Now(), m.runs[ask.UID]
	if known == nil {
		known = &minted{namespace: ask.Namespace}
		m.runs[ask.UID] = known
	}
	switch {
	case known.over:
		return target.Grant{}, errRevoked
	case now.Before(known.renew):
		return known.grant, nil
	case known.busy || m.ended:
		return target.Grant{}, target.ErrNotYet
	case known.err != nil && now.Before(known.failed.Add(failedMintRetryDelay)):
		return target.Grant{}, known.err
	}
	known.busy = true
	m.asking.Go(func() { m.mint(ask, known) })
	return target.Grant{}, target.ErrNotYet
}

// errRevoked is the answer to a run whose tokens were ended.
var errRevoked = errors.New("the run is over, and gets no credentials any more")

// Revoke deletes what the tokens of a run are bound to. A target that it does not reach is an error: they are good
// still.
func (m *minter) Revoke(ctx context.Context, namespace string, uid types.UID) error {
	if m.markOver(namespace, uid) {
		return target.ErrNotYet
	}
	err := m.live.Delete(ctx, grantSecret(namespace, uid))
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("ending the token of a run: %w; bflow target add with the same name repairs the rights", err)
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("ending the token of a run: %w", err)
	}
	return nil
}

// markOver makes sure that no token is asked for any more, and says whether one is being asked for just now.
func (m *minter) markOver(namespace string, uid types.UID) (busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.runs[uid]
	if known == nil {
		known = &minted{namespace: namespace}
		m.runs[uid] = known
	}
	known.over = true
	return known.busy
}

// grantSecret is what the tokens of a PipelineRun are bound to, without what it says of itself.
func grantSecret(namespace string, uid types.UID) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: contract.GrantSecret(string(uid))}}
}

// end waits for what is being asked for; nothing is any more.
func (m *minter) end() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.asking.Wait()
}

// account hears of contract.AccountRunner in a namespace. One that was made anew takes no token of the one before: true
// says that those were handed out.
func (m *minter) account(namespace string, uid types.UID) (stale bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.accounts[namespace]
	m.accounts[namespace] = uid
	if before == "" || before == uid {
		return false
	}
	for _, known := range m.runs {
		if known.namespace == namespace {
			known.renew, known.err, stale = time.Time{}, nil, true
		}
	}
	return stale
}

// Forget drops what is known of a run.
func (m *minter) Forget(run types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, run)
}

// mint asks for a token, and writes what came of it into a record that Forget may have dropped meanwhile.
func (m *minter) mint(ask target.Ask, into *minted) {
	m.slots <- struct{}{}
	defer func() { <-m.slots }()
	ctx, cancel := context.WithTimeout(m.ctx, mintTimeout)
	defer cancel()
	text, expires, err := m.bound(ctx, ask)
	now := m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	into.busy, into.err = false, err
	if err != nil {
		into.failed = now
		return
	}
	data := map[string][]byte{contract.KeyToken: []byte(text)}
	for key, content := range m.files {
		data[key] = content
	}
	into.grant, into.renew = target.Grant{Data: data, Expires: expires}, target.HalfLife(now, expires)
}

// bound makes a token that ends with a Secret of its own there, which is made first. That of an earlier try will do.
func (m *minter) bound(ctx context.Context, ask target.Ask) (string, time.Time, error) {
	secret := grantSecret(ask.Namespace, ask.UID)
	secret.Labels = map[string]string{contract.LabelRun: ask.Run, contract.LabelManagedBy: contract.ManagedBy}
	if m.hub != "" {
		secret.Labels[contract.LabelHub] = m.hub
	}
	err := m.live.Create(ctx, secret)
	switch {
	case apierrors.IsForbidden(err):
		return "", time.Time{},
			fmt.Errorf("making what its token is bound to: %w; bflow target add with the same name repairs the rights", err)
	case apierrors.IsNotFound(err):
		return "", time.Time{}, fmt.Errorf("the target has no namespace %q; bflow target add with the same name creates it",
			ask.Namespace)
	case client.IgnoreAlreadyExists(err) != nil:
		return "", time.Time{}, fmt.Errorf("making what its token is bound to: %w", err)
	}
	to := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: secret.Name}
	return mintToken(ctx, m.live, ask.Namespace, contract.AccountRunner, ask.For, to)
}

// mintToken asks the API server for a token of an account, which ends with what it is bound to, nil for nothing. It may
// live shorter than asked for.
func mintToken(ctx context.Context, c client.Client, namespace, account string, life time.Duration,
	to *authenticationv1.BoundObjectReference) (string, time.Time, error) {
	seconds := int64(max(life, minTokenLifetime).Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
		BoundObjectRef: to}}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	err := c.SubResource("token").Create(ctx, of, request)
	switch {
	case apierrors.IsNotFound(err):
		return "", time.Time{},
			fmt.Errorf("namespace %q of the target has no account %s; bflow target add with the same name creates it", namespace,
				account)
	case apierrors.IsForbidden(err):
		return "", time.Time{},
			fmt.Errorf("making a token of account %s: %w; bflow target add with the same name repairs the rights", account, err)
	case err != nil:
		return "", time.Time{}, fmt.Errorf("making a token of account %s: %w", account, err)
	}
	return request.Status.Token, request.Status.ExpirationTimestamp.Time, nil
}
