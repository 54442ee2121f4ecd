package cluster

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// judge follows the start of a deployment and says when waiting longer makes no sense. It has no clock of its own.
type judge struct {
	seen map[string]*episode
	fits func(*corev1.Pod) (bool, string) // whether some node could hold the pod if it were empty, else why not
}

// episode is what is remembered of a symptom.
type episode struct {
	since time.Time
	fresh bool
	pulls int
}

// look takes the pods and the Deployments in as they are at now. It returns the symptom that ends the wait, or the time
// at which to look again although nothing changed, which is zero where there is none.
func (j *judge) look(now time.Time, pods []*corev1.Pod, deployments ...*appsv1.Deployment) (*symptom, time.Time) {
	found := append(refusals(deployments...), j.ofPods(pods)...)
	present, lost := map[string]bool{}, 0
	var wake time.Time
	for i := range found {
		s := &found[i]
		if present[s.id] = true; s.id == "lost" {
			lost++
			s.tries = lost
		}
		e := j.remember(now, s)
		end := e.since.Add(s.patience())
		switch {
		case s.now || max(s.tries, e.pulls) >= maxTries:
			return s, time.Time{}
		case s.tries > 0: // only more of it decides
		case !now.Before(end):
			s.text += "; for " + s.patience().String()
			return s, time.Time{}
		case wake.IsZero() || end.Before(wake):
			wake = end
		}
	}
	for id := range j.seen {
		if e := j.seen[id]; !present[id] && e.pulls == 0 { // pulls are counted over the pauses between them
			delete(j.seen, id)
		}
	}
	return nil, wake
}

func (j *judge) ofPods(pods []*corev1.Pod) []symptom {
	var found []symptom
	for _, pod := range pods {
		for _, s := range symptoms(pod) {
			if s.reason == corev1.PodReasonUnschedulable {
				s.most = maxUnplaced
			}
			if s.reason == corev1.PodReasonUnschedulable && j.fits != nil {
				if ok, why := j.fits(pod); !ok {
					s.now, s.text = true, s.text+"; no node can ever fit it: "+why
				}
			}
			found = append(found, s)
		}
	}
	return found
}

func (j *judge) remember(now time.Time, s *symptom) *episode {
	if j.seen == nil {
		j.seen = map[string]*episode{}
	}
	e := j.seen[s.id]
	if e == nil {
		e = &episode{since: now}
		j.seen[s.id] = e
	}
	if s.fresh && !e.fresh {
		e.pulls++
	}
	e.fresh = s.fresh
	return e
}

// refusals says why the pods of Deployments cannot even be made. A quota may have room again, and a server that did not
// answer may be asked again.
func refusals(deployments ...*appsv1.Deployment) (found []symptom) {
	for _, d := range deployments {
		if d == nil {
			continue
		}
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				found = append(found, refusal(d.Name, c))
			}
		}
	}
	return found
}

// refusal is what a condition of a Deployment says.
func refusal(name string, c appsv1.DeploymentCondition) symptom {
	s := symptom{
		id: "refused", reason: c.Reason,
		text: "the pods of deployment " + name + " are refused: " + sentence(c.Message, c.Reason),
	}
	switch {
	case unanswered(c.Message):
		s.id, s.most = "unanswered", maxUnanswered
		s.text = "the pods of deployment " + name + " cannot be created now: " + sentence(c.Message, c.Reason)
	case !strings.Contains(c.Message, "exceeded quota"):
		s.now = true
	}
	return s
}
