/** The words of a server that is ready: what it holds, and commands to try that have something to
 *  show there. */

import { type Logger, textFromKey } from '@watchglass/base'
import type { KubeService } from '../compose/kube-service.ts'
import { isUpstreamMirrored } from '../options/etcd.ts'
import { addressOf } from './plan/listen.ts'
import type { OptionValues } from '../options/option-values.ts'
import { isWritable } from './plan/serve-plan.ts'
import { adminListenOf } from './plan/upstream.ts'
import { terminalWidth, wrapCommand, wrapRow } from './terminal-width.ts'

export interface Introduction {
  readonly service: KubeService
  readonly address: string
  /** The etcd or the API that is mirrored, for people. */
  readonly source: string
  readonly values: OptionValues
  readonly logger: Logger
}

/** Says what there is, and what to do with it. */
export function introduce({ service, address, source, values, logger }: Introduction): void {
  const held = holdings(service)
  const revision = service.revision || undefined
  const objects = held.reduce((sum, { count }) => sum + count, 0)
  const at = revision === undefined ? '' : `, at revision ${revision}`
  logger.info('ready', { address, objects, revision })
  const page = pageAddress(service, address, values)
  const columns = { width: terminalWidth(process.stdout), indent: 9 }
  process.stdout.write(
    [
      `Watchglass serves the Kubernetes API at ${address}`,
      `  ${isUpstreamMirrored.holds(values) ? 'source' : 'etcd  '} ${source}${at}`,
      ...wrapRow('  holds', holdingsText(held), columns),
      ...(page === undefined ? [] : [`  page   ${page} in a browser shows what happens here`]),
      ...tryLines({
        address,
        isGuarded: service.isGuarded,
        isApiServer:
          service.hasPage ||
          isUpstreamMirrored.holds(values) ||
          held.some(({ name }) => name === 'namespaces'),
        hasPods: held.some(({ name }) => name === 'pods'),
        takesWrites: isWritable(values),
        runsDeployments: runsDeployments(values),
      }).flatMap(line => (process.stdout.isTTY ? wrapCommand(line, columns) : [line])),
      '',
    ].join('\n'),
  )
}

function runsDeployments(values: OptionValues): boolean {
  const actors = values.text('simulate')?.split(',') ?? []
  const has = (name: string): boolean => actors.some(actor => ['all', name].includes(actor.trim()))
  return has('deployments') && has('nodes')
}

/** The kinds of a server, as far as they decide which commands show something. */
export interface ToTry {
  readonly address: string
  readonly isGuarded: boolean
  /** True for the API of an API server; that of an aggregated one has no namespaces. */
  readonly isApiServer: boolean
  readonly hasPods: boolean
  readonly takesWrites: boolean
  /** Deployments get pods, which run. */
  readonly runsDeployments: boolean
}

/** The commands, a line each. kubectl sends no credentials over plain HTTP. */
export function tryLines(server: ToTry): string[] {
  const { address, isGuarded, isApiServer } = server
  const isPlain = address.startsWith('http://')
  const header = isGuarded ? " -H 'Authorization: Bearer TOKEN'" : ''
  const curl = `curl${isPlain ? '' : ' -k'}${header}`
  if (!isApiServer) return [`  first  ${curl} ${address}/apis`]
  if (isPlain && isGuarded) {
    return [
      `  first  ${curl} '${address}/api/v1/pods?limit=2'`,
      '  then   --listen https://... for kubectl, which sends no token over http',
    ]
  }
  const tls = isPlain ? '' : ' --insecure-skip-tls-verify'
  const kubectl = `kubectl --server ${address}${tls}${isGuarded ? ' --token TOKEN' : ''}`
  const commands = [
    ...readCommands(server, kubectl, curl),
    ...(server.takesWrites ? writeCommands(server, kubectl) : []),
  ]
  const marks = ['  first  ', '  then   ']
  return commands.map((command, i) => `${marks[i] ?? ' '.repeat(9)}${command}`)
}

function readCommands({ address, hasPods }: ToTry, kubectl: string, curl: string): string[] {
  if (!hasPods) return [`${kubectl} get namespaces`]
  return [
    `${kubectl} get pods --all-namespaces --watch`,
    `${kubectl} get nodes -o wide`,
    `${curl} '${address}/api/v1/pods?limit=2'`,
  ]
}

function writeCommands({ runsDeployments }: ToTry, kubectl: string): string[] {
  if (!runsDeployments) return [`${kubectl} create configmap demo --from-literal color=blue`]
  return [
    `${kubectl} create deployment web --image nginx --replicas 3`,
    `${kubectl} rollout status deployment web`,
    `${kubectl} get pods --selector app=web`,
  ]
}

/** The address of the page for people; undefined where it is not served. */
function pageAddress(
  service: KubeService,
  address: string,
  values: OptionValues,
): string | undefined {
  const { adminPort } = service
  const admin = adminListenOf(values)
  if (admin !== undefined && adminPort !== 0) return `${addressOf(admin, adminPort)}/`
  return service.hasPage ? `${address}/` : undefined
}

const holdingsShown = 6

/** The objects of a resource. */
export interface Holding {
  readonly name: string
  /** The name of one of them. */
  readonly singular: string
  readonly count: number
}

export function holdingsText(held: readonly Holding[]): string {
  if (held.length === 0) return 'nothing yet'
  const most = held
    .slice(0, holdingsShown)
    .map(({ name, singular, count }) => `${count} ${count === 1 ? singular : name}`)
  const more = held.length - most.length
  if (more > 0) most.push(`${more} more ${more === 1 ? 'kind' : 'kinds'}`)
  return most.join(', ')
}

/** The groups of which every cluster has many objects: nobody looks for them first. */
const commonGroups = [
  'rbac.authorization.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'apiregistration.k8s.io',
]

/** The number of objects of each resource, the most first, but for those that every cluster has. */
function holdings(service: KubeService): Holding[] {
  const entries = service.entries()
  const { registry } = service.registry.state
  return registry
    .keyspaces()
    .map(({ prefix, resources: [resource] }) => ({
      name: resource?.resource ?? textFromKey(prefix),
      singular: resource?.singular ?? textFromKey(prefix),
      isCommon: commonGroups.includes(resource?.group ?? ''),
      count: entries.get(prefix) ?? 0,
    }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => Number(a.isCommon) - Number(b.isCommon) || b.count - a.count)
}
