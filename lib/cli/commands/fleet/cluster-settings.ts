/** The settings of one cluster: a name, and options of `serve` for it alone. */

import { resolve } from 'node:path'
import { nearest } from '../nearest.ts'
import { invalid } from '../../options/invalid.ts'
import { listed, OptionValues } from '../../options/option-values.ts'
import type { Option } from '../../options/option.ts'
import { clusterName } from './cluster-route.ts'
import { kubeconfigOptions } from '../../options/proxy.ts'

export interface ClusterSettings {
  readonly name: string
  /** The options by their names, each with its values. Files are absolute paths. */
  readonly options: Readonly<Record<string, readonly string[]>>
  /** Changes with the contents of its kubeconfig; undefined without one. */
  readonly digest?: string | undefined
}

/** Options of the process, which a cluster cannot have for itself. */
const ofProcess: ReadonlySet<string> = new Set([
  'listen',
  'tls-cert',
  'tls-key',
  'http2-ping-interval',
  'http2-ping-timeout',
  'shutdown-delay',
  'admin-listen',
  'log-level',
  'clusters',
  'idle-after',
  'cluster-domain',
])

/** Options of a process with one cluster: with several they would be several etcds, ports or
 *  threads. */
const ofOneCluster: ReadonlySet<string> = new Set([
  'threads',
  'otlp-endpoint',
  'etcd-listen',
  'etcd-listen-cert',
  'etcd-listen-key',
  'etcd-listen-client-ca',
  'etcd-listen-allow',
  'etcd-listen-prefix',
  'checkpoint',
  'data-dir',
  'durability',
  'generate',
  'load',
  'speed',
  'loop',
  'churn',
  'seed',
])

/** The options that a cluster may have, of those of `serve`. */
export function optionsOfClusters(serveOptions: readonly Option[]): ReadonlyMap<string, Option> {
  const own = serveOptions.filter(({ name }) => !ofProcess.has(name) && !ofOneCluster.has(name))
  return new Map([...own, ...kubeconfigOptions].map(option => [option.name, option]))
}

export interface EntryPlace {
  /** Paths of the entry begin here. */
  readonly folder: string
  /** The options that there are. */
  readonly options: ReadonlyMap<string, Option>
}

/** Reads the settings of a cluster from a mapping of YAML. Fails with what is wrong with it. */
export function settingsOf(
  name: unknown,
  entry: Readonly<Record<string, unknown>>,
  { folder, options }: EntryPlace,
): ClusterSettings {
  if (typeof name !== 'string' || !clusterName.test(name)) {
    throw invalid(
      `the name ${JSON.stringify(name) ?? 'of a cluster'} is not a DNS label, such as team-a`,
    )
  }
  const read: Record<string, readonly string[]> = {}
  for (const [key, value] of Object.entries(entry)) {
    const option = options.get(key)
    if (option === undefined) {
      const meant = nearest(key, options.keys())
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`
      throw invalid(`cluster ${name} cannot have the option ${JSON.stringify(key)}${hint}`)
    }
    const texts = textsOf(value).map(text =>
      option.value === 'FILE' ? inFolder(folder, text) : text,
    )
    if (texts.length === 0 || (texts.length > 1 && option.many !== true)) {
      throw invalid(
        `cluster ${name}: ${key} has one value${option.many === true ? ' or more' : ''}`,
      )
    }
    read[key] = texts
  }
  return { name, options: read }
}

/** `-` is standard output. */
function inFolder(folder: string, text: string): string {
  return text === '-' ? text : resolve(folder, text)
}

/** Empty for what is neither a text, a number or a switch, nor a list of these. */
function textsOf(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  const isText = (one: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof one)
  return values.every(isText) ? values.map(String) : []
}

/** The name of each cluster, in options of the process. */
const placeholder = '{cluster}'

/** The values of a cluster: its own, then those of the process, then the usual ones. Fails if they
 *  name nothing to serve. */
export function valuesOfCluster(
  { name, options }: ClusterSettings,
  process: OptionValues,
  serveOptions: readonly Option[],
): OptionValues {
  const values = new Map<string, readonly string[]>()
  for (const option of [...serveOptions, ...kubeconfigOptions]) {
    const inherited = isInherited(option) ? process.all(option.name) : []
    const given = options[option.name] ?? inherited.map(text => text.replaceAll(placeholder, name))
    if (given.length > 0) values.set(option.name, given)
    else if (option.fallback !== undefined) values.set(option.name, [option.fallback])
  }
  const all = new OptionValues(values)
  if (listed(all, 'etcd').join() === 'embedded' && !hasUpstream(all)) {
    throw invalid(`cluster ${name} needs a kubeconfig, etcd or upstream`)
  }
  const stray = all.text('kubeconfig') === undefined ? undefined : strayBesideKubeconfig(all)
  if (stray !== undefined) throw invalid(`cluster ${name}: kubeconfig goes without ${stray}`)
  return all
}

/** An API server stands behind the cluster. */
export function hasUpstream(values: OptionValues): boolean {
  return values.text('kubeconfig') !== undefined || values.all('upstream').length > 0
}

/** A kubeconfig says all of these itself. */
function strayBesideKubeconfig(values: OptionValues): string | undefined {
  const names = ['upstream', 'upstream-ca', 'upstream-cert', 'upstream-token-file']
  return names.find(name => values.text(name) !== undefined)
}

/** The budget of the process is shared out; and a cluster's sources are its own, unless the process
 *  names them with a place for the name. */
function isInherited({ name }: Option): boolean {
  return !ofOneCluster.has(name) && !['memory-budget', 'clusters', 'idle-after'].includes(name)
}

/** Refuses options of the process that go with one cluster only, or that would mix several. */
export function checkProcessOptions(values: OptionValues, serveOptions: readonly Option[]): void {
  for (const { name, fallback } of serveOptions) {
    const text = values.text(name)
    if (text === undefined || text === fallback || text === 'false') continue
    if (name === 'threads' && text === 'auto') continue
    if (ofOneCluster.has(name)) throw invalid(`--${name} goes without --clusters`)
    const isMixed = mixed.has(name) && !values.all(name).every(one => one.includes(placeholder))
    if (isMixed) {
      throw invalid(
        `--${name} would be the same for all of --clusters: give it to each, or with ${placeholder} for the name`,
      )
    }
  }
  const names = [...values.all('etcd'), ...values.all('prefix')]
  const hasEtcd = listed(values, 'etcd').join() !== 'embedded'
  if (hasEtcd && !names.some(text => text.includes(placeholder))) {
    throw invalid(
      `--etcd with --clusters needs --prefix /${placeholder}, or another place of the name: otherwise all clusters would be one`,
    )
  }
  if (values.text('listen') === 'none') throw invalid('--listen none goes without --clusters')
}

/** Options that would make several clusters one. */
const mixed: ReadonlySet<string> = new Set(['audit-log', 'upstream'])
