/** The options of a cluster, which are those of `watchglass run` by the names that JavaScript has
 *  for them: `--kubernetes-version 1.36` is `kubernetesVersion: '1.36'`. `watchglass run --help`
 *  says what each takes; a text means what it means there. */

type Text = string | number

export interface TestClusterOptions {
  /** A folder of CustomResourceDefinitions, which are established before the cluster is given. */
  readonly crds?: string | undefined
  /** A folder of objects, applied after `crds`. */
  readonly apply?: string | undefined
  /** Such as `1.36`. */
  readonly kubernetesVersion?: Text | undefined
  /** Controllers and nodes that are made up, such as `all` or `nodes,deployments`. */
  readonly simulate?: string | undefined
  /** Files and folders of kwok's Stage objects. */
  readonly stages?: string | readonly string[] | undefined
  /** Objects to begin with, such as `pods=1000`. */
  readonly generate?: string | undefined
  /** The rate at which generated objects change, such as `10/s`. */
  readonly churn?: string | undefined
  /** A recording, or a file of objects, to begin with. */
  readonly load?: string | undefined
  /** Replays the changes of `load`, such as `10x`. */
  readonly speed?: string | undefined
  readonly loop?: boolean | undefined
  /** Rules of faults that are active from the start: see `faults` of the cluster. */
  readonly fault?: string | readonly string[] | undefined
  readonly faultSeed?: Text | undefined
  /** One seed always generates the same objects, and draws the same times. */
  readonly seed?: Text | undefined
  readonly enableAdmissionPlugins?: string | undefined
  readonly disableAdmissionPlugins?: string | undefined
  /** `NAMESPACE/NAME=https://HOST:PORT` of a Service that webhook configurations name. */
  readonly webhookService?: string | readonly string[] | undefined
  readonly serviceClusterIpRange?: string | undefined
  readonly serviceNodePortRange?: string | undefined
  /** Nodes take only pods whose requests they have left. */
  readonly countRequests?: boolean | undefined
  readonly threads?: Text | undefined
  /** Leaves the temporary folder behind, and says where it is. */
  readonly keep?: boolean | undefined
  /** `error` unless it is given; the log goes to standard error. */
  readonly logLevel?: string | undefined
}

/** Each option, so that one that is misspelt is refused also where nobody checks types. */
export const optionNames: Readonly<Record<keyof TestClusterOptions, string>> = {
  crds: 'crds',
  apply: 'apply',
  kubernetesVersion: 'kubernetes-version',
  simulate: 'simulate',
  stages: 'stages',
  generate: 'generate',
  churn: 'churn',
  load: 'load',
  speed: 'speed',
  loop: 'loop',
  fault: 'fault',
  faultSeed: 'fault-seed',
  seed: 'seed',
  enableAdmissionPlugins: 'enable-admission-plugins',
  disableAdmissionPlugins: 'disable-admission-plugins',
  webhookService: 'webhook-service',
  serviceClusterIpRange: 'service-cluster-ip-range',
  serviceNodePortRange: 'service-node-port-range',
  countRequests: 'count-requests',
  threads: 'threads',
  keep: 'keep',
  logLevel: 'log-level',
}

type OptionValue = boolean | number | string | readonly string[]

/** The arguments of `watchglass run`. A value may begin with a dash. */
export function argumentsOf(options: TestClusterOptions): string[] {
  return Object.entries(options).flatMap(([key, value]: [string, OptionValue | undefined]) => {
    if (!Object.hasOwn(optionNames, key)) {
      const known = Object.keys(optionNames).join(', ')
      throw new TypeError(`a cluster has no option "${key}"; it takes ${known}`)
    }
    const name = optionNames[key as keyof TestClusterOptions]
    if (value === undefined || value === false) return []
    if (value === true) return [`--${name}`]
    return [value].flat().map(text => `--${name}=${String(text)}`)
  })
}
