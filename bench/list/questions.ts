/** The requests to a generated cluster. */

import type { RequestHeaders } from './http1-client.ts'
import type { Program } from './processes.ts'

const json: RequestHeaders = { accept: 'application/json' }
const protobuf: RequestHeaders = { accept: 'application/vnd.kubernetes.protobuf' }
const table: RequestHeaders = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const zipped: RequestHeaders = { ...json, 'accept-encoding': 'gzip' }

const allPods = '/api/v1/pods?resourceVersion=0'

/** Answers of this many pods are asked for by node and by label: a node has so many. */
const selectedPods = 30
/** Nodes, labels and pods that are asked for in turn. */
const turns = 8

export interface Scenario {
  readonly name: string
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
  readonly inFlight: number
  /** Requests a second, as a share of the ceiling's or a multiple of it. */
  readonly floor: number
  /** Floor over HTTP/2, where it is another one. */
  readonly floorOver2?: number
  readonly floorUnit: string
  /** Headers that give the same bytes without gzip, where the ceiling compresses them. */
  readonly plainHeaders?: RequestHeaders
}

export async function scenariosOf(program: Program): Promise<Scenario[]> {
  const pods = await firstPods(program)
  const pages = await pagesOf(program)
  const { nodes, labels } = await selectionsOf(program, pods)
  const bytes = { floorUnit: 'of the ceiling', inFlight: 2 }
  const small = { headers: json, floor: 0.4, floorUnit: 'of the ceiling', inFlight: 64 }
  const gets = pods
    .slice(0, turns)
    .map(({ metadata }) => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`)
  return [
    { ...bytes, name: 'all, JSON', paths: [allPods], headers: json, floor: 0.8 },
    { ...bytes, name: 'all, protobuf', paths: [allPods], headers: protobuf, floor: 0.8 },
    {
      ...bytes,
      name: 'all, gzip',
      paths: [allPods],
      headers: zipped,
      plainHeaders: json,
      floor: 10,
      floorUnit: 'times compressing anew',
    },
    { ...bytes, name: 'page of 500, JSON', paths: pages, headers: json, floor: 0.7 },
    { ...bytes, name: 'page of 500, Table', paths: pages, headers: table, floor: 0.2 },
    { ...small, name: 'pods of a node', paths: nodes },
    { ...small, name: 'pods of a label', paths: labels },
    { ...small, name: 'get, consistent', paths: gets },
    {
      ...small,
      name: 'get, any revision',
      paths: gets.map(path => `${path}?resourceVersion=0`),
      floor: 0.9,
      floorOver2: 0.75,
    },
  ]
}

/** Lists by node and by label whose answers are of the same size in clusters of any size. */
export async function selectionScenarios(program: Program): Promise<Scenario[]> {
  return (await scenariosOf(program)).filter(({ name }) => name.startsWith('pods of a '))
}

interface Pod {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
  }
  readonly spec: { readonly nodeName?: string }
}

interface PodList {
  readonly metadata: { readonly continue?: string }
  readonly items: readonly Pod[]
}

async function listOf(program: Program, path: string, headers = json): Promise<PodList> {
  return JSON.parse((await program.get(path, headers)).toString()) as PodList
}

async function firstPods(program: Program): Promise<readonly Pod[]> {
  return (await listOf(program, '/api/v1/pods?limit=500')).items
}

/** Every page, but for the last, which is shorter, if there are others. Of many, the first ones. */
async function pagesOf(program: Program): Promise<string[]> {
  const base = '/api/v1/pods?limit=500'
  const paths = [base]
  let token = (await listOf(program, base)).metadata.continue
  while (token !== undefined && paths.length < 20) {
    const path = `${base}&continue=${encodeURIComponent(token)}`
    const page = await listOf(program, path)
    token = page.metadata.continue
    if (token !== undefined) paths.push(path)
  }
  return paths
}

async function selectionsOf(
  program: Program,
  pods: readonly Pod[],
): Promise<{ nodes: string[]; labels: string[] }> {
  const ofNodes = pods.flatMap(({ spec: { nodeName = '' } }) =>
    nodeName === '' ? [] : [`fieldSelector=${selectorText('spec.nodeName', nodeName)}`],
  )
  return {
    nodes: await nearest(program, ofNodes),
    labels: await nearest(program, await deploymentsOf(program)),
  }
}

/** Those whose number of pods comes nearest to what is wanted, as selectors of their pods: in
 *  clusters of any size there are some. */
async function deploymentsOf(program: Program): Promise<string[]> {
  const path = '/apis/apps/v1/deployments?resourceVersion=0'
  const { items } = JSON.parse((await program.get(path, json)).toString()) as DeploymentList
  const found = items.map(({ spec: { replicas, selector } }) => ({
    distance: Math.abs(replicas - selectedPods),
    selector: `labelSelector=${selectorText('app', selector.matchLabels.app)}`,
  }))
  found.sort((one, other) => one.distance - other.distance)
  return found.map(({ selector }) => selector)
}

interface DeploymentList {
  readonly items: readonly {
    readonly spec: {
      readonly replicas: number
      readonly selector: { readonly matchLabels: { readonly app: string } }
    }
  }[]
}

function selectorText(name: string, value: string): string {
  return encodeURIComponent(`${name}=${value}`)
}

/** The selections that come nearest to the number of pods that answers shall have. */
async function nearest(program: Program, selectors: readonly string[]): Promise<string[]> {
  const found: { path: string; distance: number }[] = []
  for (const selector of [...new Set(selectors)].slice(0, 4 * turns)) {
    const path = `/api/v1/pods?resourceVersion=0&${selector}`
    const { items } = await listOf(program, path)
    found.push({ path, distance: Math.abs(items.length - selectedPods) })
  }
  found.sort((a, b) => a.distance - b.distance)
  if (found.length === 0) throw new Error('nothing to select by')
  return found.slice(0, turns).map(({ path }) => path)
}
