/** The options of a server that takes writes. */

import { isIPv4 } from 'node:net'
import { controllerNames } from '@watchglass/simulator/simulation/controller-names'
import { isOwnEtcd } from './etcd.ts'
import type { OptionCondition, Option, OptionRule, ParsedOption } from './option.ts'
import { listed } from './option-values.ts'
import { given } from './rules.ts'

/** The API takes writes. */
export const takesWrites: OptionCondition = {
  text: 'a server that takes writes',
  holds: values =>
    values.switch('writable') ||
    (!values.switch('read-only') &&
      values.text('upstream') === undefined &&
      isOwnEtcd.holds(values)),
}

const needsWrites: OptionRule = {
  that: takesWrites,
  because: 'add --writable, without --upstream',
}

const webhookNeeds: OptionRule = { that: takesWrites, because: 'add --writable' }

export const writableOption: Option = {
  name: 'writable',
  help: 'Takes writes and does them in etcd as kube-apiserver would. On for the embedded etcd; for a given --etcd it must be asked for, since nothing guards it; an empty one gets the first objects of a cluster: namespaces, roles, the Service kubernetes. Not with --upstream, which does the writes.',
  excludes: [
    { that: given('read-only'), says: 'and --read-only exclude each other' },
    { that: given('upstream'), because: 'the upstream does the writes' },
  ],
}

const simulatesNodes: OptionCondition = {
  text: '--simulate nodes',
  holds: values =>
    listed(values, 'simulate').some(name => name.trim() === 'all' || name.trim() === 'nodes'),
}

export const countRequestsOption: Option = {
  name: 'count-requests',
  help: "Simulated nodes take only pods whose requests (cpu, memory, others) they have left in their allocatable resources, and as many as these say; others wait with the scheduler's reasons, such as Insufficient cpu. Without it requests are not looked at.",
  needs: [{ that: simulatesNodes }],
}

/** Simulated controllers and nodes, and lifecycles of one's own. */
export const simulationOptions: readonly Option[] = [
  {
    name: 'simulate',
    value: 'ACTORS',
    words: ['all', ...controllerNames],
    help: 'Simulated controllers: all, or any of nodes (pods are placed and run, leases are renewed), deployments (with replica sets and replication controllers), statefulsets, daemonsets, jobs, cronjobs, services (their endpoints), volumes (claims are bound), budgets (their status) and autoscalers, with commas. They write Events of what they do. Of several processes on one etcd, one runs them. Times are drawn from --seed. Needs a server that takes writes.',
    needs: [needsWrites],
  },
  {
    name: 'stages',
    value: 'FILE|FOLDER',
    many: true,
    help: "Lifecycles of one's own: kwok's Stage objects in files of YAML or JSON. They say what happens to the objects of their kinds, in place of --simulate; watchglass stages prints those that do the same. Stage objects in etcd count, too, with --simulate or --stages. With --simulate nodes, kwok's Logs, Attach, Exec, PortForward and ResourceUsage in these files, and those of the whole cluster, say what simulated pods answer. Needs a server that takes writes.",
    needs: [needsWrites],
  },
  countRequestsOption,
]

/** As in kube-apiserver, which takes a second range of IPv6: there is none here. */
export const serviceIpRangeOption: ParsedOption<string> = {
  name: 'service-cluster-ip-range',
  value: 'CIDR',
  help: 'The range of IPv4 from which Services have their addresses, of which the first one is that of the Service kubernetes. It is stored as the ServiceCIDR kubernetes of a fresh cluster; one that is stored counts. Default: 10.96.0.0/12.',
  parse(text) {
    const [, address = '', bits = ''] = /^([\d.]+)\/(\d{1,2})$/.exec(text) ?? []
    return isIPv4(address) && Number(bits) >= 8 && Number(bits) <= 29 ? text : undefined
  },
  wrong: 'is not a range of IPv4 with 8 to 29 bits, such as 10.0.0.0/16',
  needs: [needsWrites],
}

export const nodePortRangeOption: ParsedOption<{ first: number; last: number }> = {
  name: 'service-node-port-range',
  value: 'FIRST-LAST',
  help: 'The ports of nodes that Services may have. Default: 30000-32767.',
  parse(text) {
    const [, from, sign, to] = /^(\d{1,5})([-+])(\d{1,5})$/.exec(text) ?? []
    if (from === undefined) return undefined
    const first = Number(from)
    const last = sign === '+' ? first + Number(to) : Number(to)
    return first >= 1 && first <= last && last <= 65_535 ? { first, last } : undefined
  },
  wrong: 'is not a range of ports such as 30000-32767',
  needs: [needsWrites],
}

export const serviceRangeOptions: readonly Option[] = [serviceIpRangeOption, nodePortRangeOption]

/** As kube-controller-manager has them. */
export const signingOptions: readonly Option[] = [
  {
    name: 'cluster-signing-cert-file',
    value: 'FILE',
    help: 'The certificate (PEM) of the authority that signs approved CertificateSigningRequests of kubernetes.io/kube-apiserver-client, kube-apiserver-client-kubelet and kubelet-serving. With the same file as --client-ca, their holders are users of this server. Without it nobody signs; run has an authority of its own. Needs --cluster-signing-key-file.',
    needs: [needsWrites, { that: given('cluster-signing-key-file') }],
  },
  {
    name: 'cluster-signing-key-file',
    value: 'FILE',
    help: 'The key (PEM) of --cluster-signing-cert-file, of RSA or ECDSA.',
    needs: [needsWrites, { that: given('cluster-signing-cert-file') }],
  },
]

export const pluginOptions: readonly Option[] = [
  {
    name: 'enable-admission-plugins',
    value: 'NAMES',
    help: "Admission plugins to switch on, with commas, by kube-apiserver's names. The defaults of kube-apiserver that this server knows are on without it; ServiceAccount where namespaces have accounts.",
    needs: [needsWrites],
  },
  {
    name: 'disable-admission-plugins',
    value: 'NAMES',
    help: "Admission plugins to switch off, with commas, by kube-apiserver's names.",
    needs: [needsWrites],
  },
]

export const webhookServiceOption: ParsedOption<readonly [name: string, url: URL]> = {
  name: 'webhook-service',
  value: 'NAMESPACE/NAME=URL',
  many: true,
  help: 'The address of a Service that webhook configurations name: https://HOST:PORT. No other Service is reached. Its certificate must be for NAME.NAMESPACE.svc.',
  parse(text) {
    const [, name = '', at = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    const url = URL.canParse(at) ? new URL(at) : undefined
    return /^[^/]+\/[^/]+$/.test(name) && url?.protocol === 'https:' ? [name, url] : undefined
  },
  wrong: 'is not NAMESPACE/NAME=https://HOST:PORT',
  needs: [webhookNeeds],
}

export const webhookOptions: readonly Option[] = [
  webhookServiceOption,
  {
    name: 'webhook-host',
    value: 'HOST[:PORT]',
    many: true,
    help: 'Hosts that URLs of webhooks may name. A server that listens on a loopback address calls any host without it, any other server calls none: clients that may write could make it call hosts that they cannot reach themselves.',
    needs: [webhookNeeds],
  },
]

export const writeOptions: readonly Option[] = [
  writableOption,
  {
    name: 'read-only',
    help: 'Refuses writes to the embedded etcd, too.',
  },
  ...simulationOptions,
  ...pluginOptions,
  ...serviceRangeOptions,
  ...signingOptions,
  ...webhookOptions,
]
