/** Checks an upstream that is to be mirrored itself: what our account may read there, how much that
 *  is and the memory that it needs, what passes all the same, and what the upstream is spared. */

import { totalmem } from 'node:os'
import { systemClock } from '@watchglass/cache'
import type { OptionValues } from '../../../options/option-values.ts'
import { memoryOption } from '../../../options/process.ts'
import { valueOf } from '../../../options/rules.ts'
import { namespacesIn } from '../../plan/upstream.ts'
import type { CheckList, Finding } from '../check-list.ts'
import { shownNames } from '../shown-names.ts'
import { type AccountRights, accountRights, isReadable, missingRules } from './account-rights.ts'
import { type CountedRequests, countedRequests } from './counted-requests.ts'
import type { DiscoveredResource } from './discovered-resources.ts'
import { historyBytes, memoryNeed, type ResourceSize, sizeText, sum } from './memory-need.ts'
import { type MirrorableResources, mirrorableResources } from './mirrorable-resources.ts'
import { resourceSize } from './resource-sizes.ts'
import type { UpstreamQuestions } from './upstream-questions.ts'

/** A resource that would be mirrored. */
interface SizedResource {
  readonly name: string
  /** Undefined where the server does not say. */
  readonly size: ResourceSize | undefined
}

export async function checkSource(
  list: CheckList,
  values: OptionValues,
  { url, questions }: { readonly url: string; readonly questions: UpstreamQuestions },
): Promise<void> {
  const upstream = `upstream ${url}`
  const namespaces = namespacesIn(values) ?? []
  const found: { resources?: MirrorableResources; rights: readonly AccountRights[] } = {
    rights: [],
  }
  await list.try(`${upstream}: what our account may get, list and watch`, async () => {
    found.resources = await mirrorableResources(questions, values)
    const { wanted } = found.resources
    found.rights = await fewAtOnce(wanted, one => accountRights(questions, one, namespaces))
    return aboutRights(found.rights, namespaces)
  })
  if (found.resources === undefined) return
  const readable = found.rights.filter(isReadable).map(({ resource }) => resource)
  let sized: readonly SizedResource[] | undefined
  await list.try(`${upstream}: what there is to mirror`, async () => {
    sized = await fewAtOnce(readable, async one => ({
      name: one.name,
      size: await resourceSize(questions, one, namespaces),
    }))
    return aboutSizes(sized)
  })
  if (sized === undefined) return
  let counted: CountedRequests | undefined
  await list.try(`${upstream}: what it would be spared`, async () => {
    counted = await requestsOf(questions, new Set(readable.map(({ name }) => name)))
    return aboutRequests(counted, readable.length)
  })
  const { resources } = found
  await list.try(`${upstream}: what would pass`, () =>
    aboutPassing(resources, found.rights, namespaces),
  )
  const sizes = sized
  await list.try('memory', () => aboutMemory(sizes, counted, valueOf(values, memoryOption)))
}

/** Resources that are asked about at the same time. */
const atOnceMax = 4

async function fewAtOnce<Item, Result>(
  items: readonly Item[],
  task: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const left = [...items.entries()].toReversed()
  const work = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      results[next[0]] = await task(next[1])
    }
  }
  await Promise.all(Array.from({ length: atOnceMax }, work))
  return results
}

/** Without Secrets an account is as it should be: whoever takes its token could list them all. */
function aboutRights(rights: readonly AccountRights[], namespaces: readonly string[]): Finding {
  const wanting = rights.filter(({ missing }) => missing.length > 0)
  const mended = wanting.filter(({ resource }) => resource.name !== 'secrets')
  const secrets =
    mended.length === wanting.length
      ? ''
      : '; secrets pass, as they should unless you want them in memory'
  const text = `${rights.length - wanting.length} of ${rights.length} resources${secrets}`
  if (mended.length === 0) return text
  const names = mended.map(({ resource, missing }) => `${resource.name} (${missing.join(', ')})`)
  const then = rights.some(isReadable) ? 'their requests pass' : 'everything passes'
  const role =
    namespaces.length === 0
      ? 'a ClusterRole of the account has'
      : `a Role of the account in each of ${shownNames(namespaces)} (a ClusterRole for resources of the cluster) has`
  const rules = missingRules(mended).map(rule => `\n      - ${rule}`)
  return {
    warning: `${text}; it lacks ${shownNames(names)}: ${then}, unless ${role}${rules.join('')}`,
  }
}

function aboutSizes(resources: readonly SizedResource[]): Finding {
  const known = resources.flatMap(({ name, size }) => (size === undefined ? [] : { name, ...size }))
  const some = known.filter(({ objects }) => objects > 0).toSorted((a, b) => b.bytes - a.bytes)
  const objects = sum(some.map(one => one.objects))
  const bytes = sum(some.map(one => one.bytes))
  const names = some.map(one => `${numberText(one.objects)} ${one.name} (${sizeText(one.bytes)})`)
  const all = `${numberText(objects)} objects of ${some.length === 1 ? '1 resource' : `${some.length} resources`}, about ${sizeText(bytes)}`
  const text = some.length === 0 ? 'no objects' : `${all}: ${shownNames(names)}`
  const unknown = resources.filter(({ size }) => size === undefined).map(({ name }) => name)
  if (unknown.length === 0) return text
  return {
    warning: `${text}; the server does not say how many there are of ${shownNames(unknown)}`,
  }
}

const metricsMaxBytes = 128 * 1024 * 1024

/** Undefined if our account may not get /metrics. */
async function requestsOf(
  questions: UpstreamQuestions,
  names: ReadonlySet<string>,
): Promise<CountedRequests | undefined> {
  const options = { accept: 'text/plain', maxBytes: metricsMaxBytes }
  const { code, body } = await questions.get('/metrics', options)
  if (code >= 300) return undefined
  const nowSeconds = systemClock.wallMs() / 1000
  return countedRequests(body.toString(), name => names.has(name), nowSeconds)
}

function aboutRequests(counted: CountedRequests | undefined, resources: number): Finding {
  if (counted === undefined) {
    return 'not known, as our account may not get /metrics: bind it to the ClusterRole system:monitoring for this'
  }
  const { all, mirrored, bytes, mirroredBytes, watches, seconds } = counted
  if (all === 0) return 'not known: /metrics counts no requests'
  const since = seconds === undefined ? '' : ` in ${timeText(seconds)}`
  const share = `${percent(mirrored, all)} of the ${numberText(all)} requests that it has counted${since}, and ${percent(mirroredBytes, bytes)} of the bytes of its answers, are for gets, lists and watches of these resources`
  return `${share}; ${numberText(watches)} watches of them are open, and Watchglass has one for each of up to ${resources} resources. Requests that clients send to Watchglass count`
}

function aboutPassing(
  { leftOut, ofOthers, unknown }: MirrorableResources,
  rights: readonly AccountRights[],
  namespaces: readonly string[],
): Finding {
  const refused = rights.filter(one => !isReadable(one)).map(({ resource }) => resource)
  const parts = [
    'writes, subresources such as logs and exec, and consistent reads of events, which have no bookmarks',
    ...(namespaces.length === 0
      ? []
      : [`what is asked of all namespaces, or of others than ${shownNames(namespaces)}`]),
    ...partOf('what our account may not list and watch', refused),
    ...partOf('what options leave out', leftOut),
    ...partOf('what other servers serve', ofOthers),
    ...partOf('what is neither built in nor defined by a definition that it may list', unknown),
  ]
  return parts.join('; ')
}

function partOf(what: string, resources: readonly DiscoveredResource[]): string[] {
  return resources.length === 0 ? [] : [`${what}: ${shownNames(resources.map(({ name }) => name))}`]
}

/** By the rule of docs/SIZING.md. */
function aboutMemory(
  resources: readonly SizedResource[],
  counted: CountedRequests | undefined,
  budgetBytes: number | undefined,
): Finding {
  const sizes = resources.flatMap(({ size }) => size ?? [])
  const { objectsBytes, listsBytes } = memoryNeed(sizes)
  const changes = historyOf(resources, counted)
  const history =
    changes === undefined
      ? ', and the history of ten minutes beside it'
      : `, and ${sizeText(changes)} of history, if resources change as they have until now`
  const text = `${sizeText(objectsBytes)} once all are mirrored, at most ${sizeText(objectsBytes + listsBytes)} with whole lists of them in all forms${history} (SIZING.md)`
  if (budgetBytes !== undefined && budgetBytes < objectsBytes + (changes ?? 0)) {
    return { warning: `${text}: above --memory-budget, so the largest resources would pass` }
  }
  const limit = Math.min(totalmem(), process.constrainedMemory() || Infinity)
  if (objectsBytes + (changes ?? 0) < limit * 0.9) return text
  return { warning: `${text}: this machine gives ${sizeText(limit)}` }
}

/** The history of resources that change as often as they did since the server has started. */
function historyOf(
  resources: readonly SizedResource[],
  { writes, seconds }: Partial<CountedRequests> = {},
): number | undefined {
  if (writes === undefined || seconds === undefined) return undefined
  return sum(
    resources.map(({ name, size }) =>
      size === undefined ? 0 : historyBytes(size, (writes.get(name) ?? 0) / seconds),
    ),
  )
}

function numberText(number: number): string {
  return Math.round(number).toLocaleString('en-US')
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${Math.round((100 * part) / whole)} %`
}

function timeText(seconds: number): string {
  if (seconds < 7200) return `${Math.max(1, Math.round(seconds / 60))} min`
  const hours = seconds / 3600
  return hours < 72 ? `${Math.round(hours)} hours` : `${Math.round(hours / 24)} days`
}
