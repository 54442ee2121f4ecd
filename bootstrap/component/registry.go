package component

// All returns every component, new, in the order of installation. Bflow comes last: it is rendered with the pieces of
// the others.
func All() []Component {
	return []Component{
		&Tekton{},
		&Kueue{},
		&Replicas{},
		&Servers{},
		&Devices{},
		&Network{},
		&Prometheus{},
		&Dashboard{},
		&Triggers{},
		&Bflow{},
	}
}

// Flags returns the flags of components, in their order.
func Flags(all []Component) []Flag {
	var flags []Flag
	for _, c := range all {
		flags = append(flags, c.Definition().Flags...)
	}
	return flags
}
