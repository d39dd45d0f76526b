/** The command line as one table. `--help`, the parser and deploy/OPTIONS.md are made from it, so
 *  that adding an option is adding a row. Each option has an environment variable: that of
 *  `--etcd-user` is `WATCHGLASS_ETCD_USER`. */

import { actorNames } from '@watchglass/simulator/actors/actor-names'
import { authOptions } from './auth-options.ts'
import { etcdCredentialOptions, etcdOption } from '../options/etcd.ts'
import { etcdListenOptions } from '../options/etcd-listen.ts'
import type { CommandRow, Option } from '../options/option.ts'
import {
  dataFolderOptions,
  faultOptions,
  memoryOption,
  threadsOption,
} from '../options/serve-options.ts'
import { metricsNamesOption, otlpOption, upstreamOptions } from './upstream-options.ts'

/** The options of generated clusters. */
const clusterOptions: readonly Option[] = [
  {
    name: 'prefix',
    value: 'PATH',
    fallback: '/registry',
    help: "The prefix of all keys in etcd, as kube-apiserver's --etcd-prefix.",
  },
  {
    name: 'churn',
    value: 'N/s',
    help: 'Keeps changing generated objects at this rate: leases, statuses, evictions, rollouts.',
  },
  {
    name: 'seed',
    value: 'N',
    fallback: '1',
    help: 'The same seed generates the same objects, and draws the same times.',
  },
]

const logOptions: readonly Option[] = [
  {
    name: 'log-level',
    value: 'LEVEL',
    fallback: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    help: 'The lowest level to log: debug, info, warn or error. JSON lines on standard error, plain text on a terminal.',
  },
]

/** The options of `serve` for its listeners, and for access. */
const serveOptions: readonly Option[] = [
  {
    name: 'listen',
    value: 'URL',
    fallback: 'http://127.0.0.1:8001',
    help: 'The address to serve on: http or https, both with HTTP/1.1 and HTTP/2. Port 0 picks a free port; none serves only --etcd-listen.',
  },
  {
    name: 'tls-cert',
    value: 'FILE',
    help: 'The server certificate (PEM) for an https listener. Read again when it changes. Needs --tls-key.',
  },
  {
    name: 'tls-key',
    value: 'FILE',
    help: 'The key (PEM) of --tls-cert.',
  },
  {
    name: 'client-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for client certificates. Clients are then asked for a certificate.',
  },
  {
    name: 'allowed-host',
    value: 'NAME',
    many: true,
    help: 'Further names of an unauthenticated server on a loopback address, beside localhost and addresses: requests for other names are refused, because a web page may have sent them.',
  },
  {
    name: 'continue-key-file',
    value: 'FILE',
    help: 'Encrypts continue tokens. The file has one key of 32 bytes (base64) a line: the first encrypts, all decrypt.',
  },
  {
    name: 'etcd-for',
    value: 'RESOURCE=URL',
    many: true,
    help: 'Another etcd that holds a resource, reached with the same credentials: events=http://10.0.0.2:2379. Separate several endpoints with commas.',
  },
  {
    name: 'exclude',
    value: 'RESOURCE',
    many: true,
    help: 'A resource that is neither mirrored nor served, such as secrets or widgets.example.com. Separate several with commas.',
  },
  {
    name: 'resources',
    value: 'FILE',
    help: 'A YAML list of resources that are declared nowhere in etcd, such as those of an aggregated API server.',
  },
  {
    name: 'kubernetes-version',
    value: 'MINOR',
    fallback: '1.36',
    help: 'The version of Kubernetes to answer as, 1.32 to 1.37. With --upstream, the upstream says which. Writes follow the rules of 1.36 in all of them.',
  },
  {
    name: 'cbor',
    help: 'Offers CBOR beside JSON, YAML and Kubernetes protobuf. In kube-apiserver this is a feature gate that is off by default.',
  },
  {
    name: 'serve-shards',
    help: 'Obeys shardSelector of lists and watches (KEP-5866). In kube-apiserver this is a feature gate that is off by default up to 1.37, and the parameter is then ignored. With --upstream, it is obeyed even where the upstream ignores it; without this option, answers are those of the upstream.',
  },
  {
    name: 'serve-drop',
    help: 'Leaves managed fields out where the Accept header says drop=metadata.managedFields (KEP-5958). In kube-apiserver this is a feature gate that is off by default, from 1.38 on; the parameter is then ignored. With --upstream, it is obeyed even where the upstream ignores it; without this option, answers are those of the upstream.',
  },
  {
    name: 'writable',
    help: 'Takes writes and does them in etcd as kube-apiserver would. On for the embedded etcd; for a given --etcd it must be asked for, since nothing guards it. Not with --upstream, which does the writes.',
  },
  {
    name: 'read-only',
    help: 'Refuses writes to the embedded etcd, too.',
  },
  {
    name: 'simulate',
    value: 'ACTORS',
    words: ['all', ...actorNames],
    help: 'Made-up controllers: all, or any of nodes (pods are placed and run, leases are renewed), deployments (with replica sets and replication controllers), statefulsets, daemonsets, jobs, cronjobs, services (their endpoints), volumes (claims are bound), budgets (their status) and autoscalers, with commas. They write Events of what they do. Of several processes on one etcd, one runs them. Times are drawn from --seed. Needs a server that takes writes.',
  },
  {
    name: 'stages',
    value: 'FILE|FOLDER',
    many: true,
    help: "Lifecycles of one's own: kwok's Stage objects in files of YAML or JSON. They say what goes on with the objects of their kinds, in place of --simulate; watchglass stages prints those that do the same. Stage objects in etcd count, too, with --simulate or --stages. With --simulate nodes, kwok's Logs, Attach, Exec, PortForward and ResourceUsage in these files, and those of the whole cluster, say what made-up pods answer. Needs a server that takes writes.",
  },
  {
    name: 'enable-admission-plugins',
    value: 'NAMES',
    help: "Admission plugins to switch on, with commas, by kube-apiserver's names. What a kube-apiserver has on and this server knows is on without it; ServiceAccount where namespaces have accounts.",
  },
  {
    name: 'disable-admission-plugins',
    value: 'NAMES',
    help: "Admission plugins to switch off, with commas, by kube-apiserver's names.",
  },
  {
    name: 'webhook-service',
    value: 'NAMESPACE/NAME=URL',
    many: true,
    help: 'Where a Service is that the webhooks of configurations name: https://HOST:PORT. No Service is reached otherwise. Its certificate is to be for NAME.NAMESPACE.svc.',
  },
  {
    name: 'webhook-host',
    value: 'HOST[:PORT]',
    many: true,
    help: 'Hosts that URLs of webhooks may name. A server that listens on a loopback address calls any host without it, any other server none: whoever may write could have it call whom they cannot reach.',
  },
  {
    name: 'shutdown-delay',
    value: 'SECONDS',
    fallback: '0',
    help: 'How long to keep serving after SIGTERM or SIGINT while /readyz already fails, so that load balancers stop sending requests.',
  },
]

/** The options of `--etcd embedded`. */
const embeddedOptions: readonly Option[] = [
  ...dataFolderOptions,
  {
    name: 'generate',
    value: 'KIND=COUNT[,KIND=COUNT...]',
    help: 'Fills the embedded etcd with a generated cluster, such as pods=1000. See the command generate.',
  },
  {
    name: 'load',
    value: 'FILE',
    help: 'Fills the embedded etcd with a history that the command record wrote, a recording of kwokctl, objects in YAML, or a trace of SimKube (version 2): which of them, the contents tell. A file that ends in .gz is uncompressed.',
  },
  {
    name: 'speed',
    value: 'SPEED',
    help: 'Replays the changes of --load instead of loading them at once: 1x, 10x (of the recorded speed), 100/s (revisions) or max. Times in objects are moved to now.',
  },
  {
    name: 'loop',
    help: 'Begins the replay again when it is over, from what there was at first.',
  },
]

/** The options of `serve`, which `check` has too. */
const allServeOptions: readonly Option[] = [
  {
    name: 'etcd',
    value: 'URL',
    many: true,
    fallback: 'embedded',
    help: 'The endpoints of etcd, separated by commas; or embedded, an etcd in this process: for trying, tests and load tests.',
  },
  ...etcdCredentialOptions,
  ...serveOptions,
  ...upstreamOptions,
  metricsNamesOption,
  otlpOption,
  ...authOptions,
  memoryOption,
  ...faultOptions,
  threadsOption,
  ...etcdListenOptions,
  ...embeddedOptions,
  ...clusterOptions,
  ...logOptions,
]

/** The options that `run` and `serve` share. */
const sharedWithRun = [
  'simulate',
  'stages',
  'enable-admission-plugins',
  'disable-admission-plugins',
  'webhook-service',
  'kubernetes-version',
  'seed',
  'threads',
]

const runOptions: readonly Option[] = [
  {
    name: 'crds',
    value: 'DIR',
    help: 'Applies the CustomResourceDefinitions in the YAML and JSON files of a folder, and waits until they are established, before the command begins.',
  },
  {
    name: 'apply',
    value: 'DIR',
    help: 'Applies the objects in the YAML and JSON files of a folder, in the order of their names, after those of --crds.',
  },
  {
    name: 'keep',
    help: 'Keeps the temporary folder with kubeconfig and certificates, and says where it is.',
  },
  ...allServeOptions.filter(({ name }) => sharedWithRun.includes(name)),
  ...logOptions.map(option => ({ ...option, fallback: 'error' })),
]

/** Every command, in the order of `--help`. */
export type CommandName =
  | 'check'
  | 'completion'
  | 'decode'
  | 'encode'
  | 'envtest'
  | 'generate'
  | 'man'
  | 'record'
  | 'run'
  | 'save'
  | 'serve'
  | 'stages'

const tryWritesOption: Option = {
  name: 'try-writes',
  help: 'Also tries what etcd promises about writes: order, progress, transactions, large events, leases. Writes some 5 MB below /watchglass-check/, and deletes them.',
}

/** The options of `record` and `save`. */
const recordingOptions: readonly Option[] = [
  {
    name: 'prefix',
    value: 'PATH',
    help: 'Only keys that begin with this; all keys if it is left out.',
  },
  {
    name: 'revision',
    value: 'N',
    help: 'The revision of etcd to start at. Default: the newest.',
  },
  {
    name: 'format',
    value: 'FORM',
    fallback: 'watchglass',
    choices: ['watchglass', 'kwok', 'simkube'],
    help: 'The form of the file: watchglass (all keys, exactly), kwok (a recording of kwokctl, YAML, of the resources that it records) or simkube (a trace of version 2: workloads that nobody owns; not compressed).',
  },
  {
    name: 'anonymize',
    help: 'Replaces names, labels, values and texts by pseudonyms, and secrets by other bytes, so that the file may be given away. Kinds, fields, numbers, sizes and times stay. Without it all Secrets are in the file, and only its owner may read it.',
  },
]

export const commands: Readonly<Record<CommandName, CommandRow>> = {
  check: {
    operands: '',
    summary: 'Tries what serve would use, a line each: options, files, endpoints, permissions.',
    options: [...allServeOptions, tryWritesOption],
  },
  completion: {
    operands: 'bash|zsh|fish',
    summary: 'Prints the completion script of a shell.',
    options: [],
  },
  decode: {
    operands: '[KEY]',
    summary:
      'Prints a stored value as JSON or YAML: from standard input, or that of a KEY in etcd.',
    options: [
      {
        name: 'output',
        value: 'FORM',
        fallback: 'json',
        choices: ['json', 'pretty', 'yaml'],
        help: 'What to print: json on one line, pretty (indented JSON) or yaml.',
      },
      {
        name: 'jsonl',
        help: 'Reads lines {"value": base64}; prints for each {"json": text} or {"error": reason}.',
      },
      {
        name: 'etcd',
        value: 'URL',
        many: true,
        help: 'The endpoint of etcd that has the KEY: http://127.0.0.1:2379 if it is left out.',
      },
      ...etcdCredentialOptions,
      ...logOptions,
    ],
  },
  encode: {
    operands: '',
    summary: 'Prints a JSON object from standard input in its stored form, Kubernetes protobuf.',
    options: [
      {
        name: 'jsonl',
        help: 'Reads lines {"json": text}; prints for each {"value": base64} or {"error": reason}.',
      },
      ...logOptions,
    ],
  },
  envtest: {
    operands: 'DIR',
    takesCommand: true,
    summary:
      "Writes what KUBEBUILDER_ASSETS names: controller-runtime's envtest starts this server.",
    options: [
      {
        name: 'as',
        value: 'PROGRAM',
        choices: ['etcd', 'kube-apiserver'],
        help: 'For what is written there: be this program, with the flags after --.',
      },
      ...logOptions.map(option => ({ ...option, fallback: 'error' })),
    ],
  },
  generate: {
    operands: 'KIND=COUNT[,KIND=COUNT...]',
    summary:
      'Writes a generated cluster into etcd: related objects, stored as kube-apiserver stores them.',
    options: [etcdOption, ...etcdCredentialOptions, ...clusterOptions, ...logOptions],
  },
  man: {
    operands: '',
    summary: 'Prints the manual page: watchglass man | man -l -',
    options: [],
  },
  record: {
    operands: '',
    summary: 'Records an etcd until stopped: what is there, then every change. Needs --out.',
    options: [
      {
        name: 'out',
        value: 'FILE',
        help: 'The file to write: JSON lines, compressed when the name ends in .gz. An existing file is replaced.',
      },
      ...recordingOptions,
      etcdOption,
      ...etcdCredentialOptions,
      ...logOptions,
    ],
  },
  run: {
    operands: '-- COMMAND [ARGUMENT...]',
    takesCommand: true,
    summary:
      'Runs a command with a fresh cluster of its own: KUBECONFIG has an administrator and a visitor.',
    options: runOptions,
  },
  save: {
    operands: 'FILE',
    summary: 'Writes what is in an etcd now to one FILE (.gz: compressed), for serve --load.',
    options: [...recordingOptions, etcdOption, ...etcdCredentialOptions, ...logOptions],
  },
  serve: {
    operands: '',
    summary: 'Mirrors an etcd and serves the Kubernetes API from it: lists, gets and watches.',
    options: allServeOptions,
  },
  stages: {
    operands: '',
    summary:
      'Prints what --simulate does with pods and nodes as Stage objects, to change and give to --stages.',
    options: [...logOptions],
  },
}
