package remote

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// liveRequestTimeout is how long a call that no watch makes may take.
const liveRequestTimeout = 15 * time.Second

// connection is what a process holds of a target while its Secret is there.
type connection struct {
	of     target.Credentials // what it was made of, the first token too
	token  *token
	sight  *view.Target
	live   client.Client
	minter *minter
	ctx    context.Context
	end    context.CancelFunc
}

// connect makes clients and a view, which asks nobody anything before it runs. It ends with life at the latest. What
// guard refuses, nil for nothing, is not sent.
func connect(life context.Context, c target.Credentials, scheme *runtime.Scheme, guard transport.WrapperFunc, tell,
	renew func(), clk clock.PassiveClock) (*connection, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	cfg.UserAgent = "bflow-controller/" + step.Version
	conn := &connection{of: c, token: &token{}}
	conn.token.set(c.Token)
	cfg.Wrap(conn.token.wrap)
	cfg.Wrap(guard)
	if conn.sight, err = view.New(cfg, c.Target, tell); err != nil {
		return nil, err
	}
	if conn.live, err = conn.client(cfg, scheme); err != nil {
		return nil, fmt.Errorf("making a client of target %q: %w", c.Target, err)
	}
	if conn.sight.Nodes, err = labels.Parse(c.Nodes); err != nil {
		return nil, fmt.Errorf("reading which nodes are target %q: %w", c.Target, err)
	}
	conn.ctx, conn.end = context.WithCancel(life)
	conn.minter = newMinter(conn.ctx, c, conn.live, clk)
	conn.sight.Also(&corev1.ServiceAccount{}, cache.ByObject{
		Field: fields.OneTermEqualSelector("metadata.name", contract.AccountRunner), Transform: onlyIdentity},
		conn.accounts(renew))
	return conn, nil
}

// accounts hears of the accounts of runs: renew is called when the tokens of one are good no more.
func (c *connection) accounts(renew func()) toolscache.ResourceEventHandler {
	hear := func(obj any) {
		if o, ok := obj.(client.Object); ok && c.minter.account(o.GetNamespace(), o.GetUID()) {
			renew()
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: hear, UpdateFunc: func(_, now any) { hear(now) }}
}

// onlyIdentity keeps of an account which one it is.
func onlyIdentity(obj any) (any, error) {
	if a, ok := obj.(*corev1.ServiceAccount); ok {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name, UID: a.UID,
			ResourceVersion: a.ResourceVersion}}, nil
	}
	return obj, nil
}

// client reads and writes past any cache, within seconds, or not at all.
func (c *connection) client(cfg *rest.Config, scheme *runtime.Scheme) (client.Client, error) {
	cfg = rest.CopyConfig(cfg)
	// calls are few and small: proxies and logs may read them
	cfg.Timeout, cfg.ContentType = liveRequestTimeout, runtime.ContentTypeJSON
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return fuse(c.of.Target, c.sight.Reach, next) })
	asked, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, asked)
	if err != nil {
		return nil, err
	}
	return client.New(cfg, client.Options{HTTPClient: asked, Scheme: scheme, Mapper: mapper})
}

// run looks at the target until the connection ends, and returns when nobody is asked anything any more.
func (c *connection) run() {
	_ = c.sight.Start(c.ctx) // without an error
	c.minter.end()
}

func (c *connection) target() target.Target {
	return target.Target{Name: c.of.Target, Live: c.live, Sight: c.sight, Accessor: c.minter}
}

// serves says whether other credentials lead to the same place, so that only the token may differ.
func (c *connection) serves(other target.Credentials) bool {
	return string(c.of.Kubeconfig) == string(other.Kubeconfig) && string(c.of.CA) == string(other.CA) &&
		c.of.Nodes == other.Nodes && c.of.LoadNodes == other.LoadNodes
}
