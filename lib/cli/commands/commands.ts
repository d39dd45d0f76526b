/** The command line as one table. `--help`, the parser and docs/OPTIONS.md are made from it, so
 *  that adding an option is adding a row. Each option has an environment variable: that of
 *  `--etcd-user` is `WATCHGLASS_ETCD_USER`. */

import { authOptions } from '../options/access.ts'
import { clusterOptions, embeddedOptions } from '../options/cluster.ts'
import { etcdCredentialOptions, etcdOption } from '../options/etcd.ts'
import { etcdListenOptions } from '../options/etcd-listen.ts'
import { fleetOptions } from '../options/fleet.ts'
import { getOptions } from '../options/get.ts'
import { listeningOptions, shutdownDelayOption } from '../options/listening.ts'
import { logOptions } from '../options/log.ts'
import { mirroredOptions } from '../options/mirrored.ts'
import type { CommandRow, Example, Option, OptionGroup } from '../options/option.ts'
import { faultOptions, memoryOption, threadsOption } from '../options/process.ts'
import { kubeconfigOptions, portOption } from '../options/proxy.ts'
import {
  metricsNamesOption,
  otlpOption,
  proxiedNamespacesOption,
  upstreamOptions,
} from '../options/upstream.ts'
import { writeOptions } from '../options/writes.ts'

/** The options of `serve`, which `check` has too, by subject. */
const serveGroups: readonly OptionGroup[] = [
  {
    title: 'What is mirrored',
    options: [
      {
        name: 'etcd',
        value: 'URL',
        many: true,
        fallback: 'embedded',
        help: 'The endpoints of etcd, separated by commas; or embedded, an etcd in this process: for trying, tests and load tests.',
      },
      ...etcdCredentialOptions,
      ...mirroredOptions,
    ],
  },
  { title: 'Clients', options: [...listeningOptions, shutdownDelayOption] },
  { title: 'Who may do what', options: authOptions },
  { title: 'An API server behind it', options: [...upstreamOptions] },
  {
    title: 'A cluster of its own, for tests',
    options: [...embeddedOptions, ...clusterOptions, ...writeOptions, ...faultOptions],
  },
  { title: 'Many clusters', options: fleetOptions },
  { title: 'etcd for others', options: etcdListenOptions },
  {
    title: 'The process',
    options: [memoryOption, threadsOption, metricsNamesOption, otlpOption, ...logOptions],
  },
]

const serveExamples: readonly Example[] = [
  [
    'watchglass serve --generate pods=1000 --churn 10/s --simulate all',
    'a generated cluster that takes writes, at http://127.0.0.1:8001',
  ],
  ['watchglass serve --etcd http://127.0.0.1:2379', 'reads from your etcd, on this machine only'],
  [
    'watchglass serve --upstream https://10.0.0.1:6443 --upstream-ca kube-ca.crt --upstream-token-file token --listen https://127.0.0.1:8443 --tls-cert server.crt --tls-key server.key',
    'reads from memory in front of an API server, with its access rules',
  ],
]

/** The options that `run` and `serve` share. */
const sharedWithRun = [
  'simulate',
  'stages',
  'count-requests',
  'service-cluster-ip-range',
  'service-node-port-range',
  'enable-admission-plugins',
  'disable-admission-plugins',
  'webhook-service',
  'kubernetes-version',
  'seed',
  'threads',
  'fault',
  'fault-seed',
  'generate',
  'churn',
  'load',
  'speed',
  'loop',
]

const preparingOptions: readonly Option[] = [
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
  {
    name: 'stdio',
    help: 'Instead of a command, for helpers of test frameworks: prints the variables that a command would get as one line of JSON, and keeps the cluster until standard input ends. A line {"apply":[...]} there, of objects and paths of files and folders, applies them, and is answered by {} or {"error":"..."}.',
  },
]

const runGroups: readonly OptionGroup[] = [
  { title: 'Before the command', options: preparingOptions },
  ...serveGroups.flatMap(({ title, options }) => {
    const shared = options.filter(({ name }) => sharedWithRun.includes(name))
    return shared.length === 0 ? [] : [{ title, options: shared }]
  }),
  { title: 'The log', options: logOptions.map(option => ({ ...option, fallback: 'error' })) },
]

/** Every command, in the order of `--help`. */
export type CommandName =
  | 'check'
  | 'completion'
  | 'decode'
  | 'encode'
  | 'envtest'
  | 'generate'
  | 'get'
  | 'man'
  | 'proxy'
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
    help: 'The form of the file: watchglass (all keys, exactly), kwok (a recording of kwokctl, YAML, of the resources that it records) or simkube (a trace of version 2: workloads without an owner; not compressed).',
  },
  {
    name: 'anonymize',
    help: 'Replaces names, labels, values and texts by pseudonyms, and secrets by other bytes, so that the file can be shared. Kinds, fields, numbers, sizes and times stay. Without it all Secrets are in the file, and only its owner may read it.',
  },
]

function grouped(groups: readonly OptionGroup[]): Pick<CommandRow, 'options' | 'groups'> {
  return { groups, options: groups.flatMap(({ options }) => options) }
}

export const commands: Readonly<Record<CommandName, CommandRow>> = {
  check: {
    operands: '',
    summary: 'Checks what serve would use, one line each: options, files, endpoints, permissions.',
    ...grouped([...serveGroups, { title: 'Beside these', options: [tryWritesOption] }]),
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
  get: {
    operands: 'RESOURCE',
    summary:
      'Shows objects sorted, searched or counted by the server: a table on a terminal, JSON elsewhere.',
    examples: [
      ['watchglass get pods -A --sort -restarts --limit 20', 'the pods that restart most'],
      ["watchglass get pods -A --where 'status!=Running' -w", 'what does not run, live'],
      ['watchglass get pods -A --count-by node -o csv', 'pods of each node'],
    ],
    options: [...getOptions, ...logOptions.map(option => ({ ...option, fallback: 'warn' }))],
  },
  man: {
    operands: '',
    summary: 'Prints the manual page: watchglass man | man -l -',
    options: [],
  },
  proxy: {
    operands: '',
    summary:
      "Serves a kubeconfig's cluster on localhost in place of kubectl proxy, with reads from memory.",
    options: [
      portOption,
      ...kubeconfigOptions,
      proxiedNamespacesOption,
      memoryOption,
      ...logOptions.map(option => ({ ...option, fallback: 'warn' })),
    ],
  },
  record: {
    operands: '',
    summary: 'Records an etcd until stopped: its contents, then every change. Needs --out.',
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
    ...grouped(runGroups),
    examples: [
      ['watchglass run -- kubectl get namespaces', 'a cluster that is gone afterwards'],
      ['watchglass run --crds config/crd -- npm test', 'with your definitions'],
      [
        'watchglass run --simulate all --fault error,code=429,share=5% -- go test ./...',
        'with controllers and kubelets, and with faults',
      ],
    ],
  },
  save: {
    operands: 'FILE',
    summary:
      'Writes the present contents of an etcd to one FILE (.gz: compressed), for serve --load.',
    options: [...recordingOptions, etcdOption, ...etcdCredentialOptions, ...logOptions],
  },
  serve: {
    operands: '',
    summary: 'Mirrors an etcd and serves the Kubernetes API from it: lists, gets and watches.',
    ...grouped(serveGroups),
    examples: serveExamples,
  },
  stages: {
    operands: '',
    summary:
      'Prints what --simulate does with pods and nodes as Stage objects, to change and give to --stages.',
    options: [...logOptions],
  },
}

/** The commands by what they are for, as `--help` shows them. */
export const commandGroups: readonly (readonly [title: string, names: readonly CommandName[]])[] = [
  ['Serve and test', ['run', 'serve', 'proxy', 'get', 'check']],
  ['Data', ['generate', 'record', 'save', 'decode', 'encode', 'stages']],
  ['This program', ['completion', 'man', 'envtest']],
]
