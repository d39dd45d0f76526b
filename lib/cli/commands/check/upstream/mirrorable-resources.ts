/** The resources of an upstream that `serve` with the same options would mirror, and those that it
 *  would not, by reason. */

import { keyFromText, listOf, memberAt, objectOf, textOf } from '@watchglass/base'
import { schemaOf } from '@watchglass/codec'
import { builtInResources, type Resource } from '@watchglass/kube'
import { prefixOption } from '../../../options/cluster.ts'
import { kubernetesVersionOption } from '../../../options/mirrored.ts'
import type { OptionValues } from '../../../options/option-values.ts'
import { valueOf } from '../../../options/rules.ts'
import { etcdPlanOf, storagePrefix } from '../../plan/etcd-plan.ts'
import { keptOf } from '../../plan/upstream.ts'
import { type DiscoveredResource, discoveredResources } from './discovered-resources.ts'
import type { UpstreamQuestions } from './upstream-questions.ts'

export interface MirrorableResources {
  readonly wanted: readonly DiscoveredResource[]
  /** By --exclude, --never-cache or --cache-only. */
  readonly leftOut: readonly DiscoveredResource[]
  /** Resources of aggregated servers. */
  readonly ofOthers: readonly DiscoveredResource[]
  /** Neither built in, nor of a definition that our account may read. */
  readonly unknown: readonly DiscoveredResource[]
}

export async function mirrorableResources(
  questions: UpstreamQuestions,
  values: OptionValues,
): Promise<MirrorableResources> {
  const resources = await discoveredResources(questions)
  const definitions = await definitionsOf(questions)
  const remote = await remoteGroups(questions)
  const prefix = valueOf(values, prefixOption)
  const schema = schemaOf(valueOf(values, kubernetesVersionOption))
  const known = builtInResources(schema, prefix)
  const isKept = keptOf(etcdPlanOf(values, { schema, prefix, configured: [] }))
  const sorted: Record<keyof MirrorableResources, DiscoveredResource[]> = {
    wanted: [],
    leftOut: [],
    ofOthers: [],
    unknown: [],
  }
  const places = new Set<string>()
  for (const one of resources) {
    const isKnown = isBuiltIn(known, one) || definitions.has(one.name)
    const place = isKnown ? storagePrefix('', one.name, { prefix, known }) : ''
    if (remote.has(one.group)) sorted.ofOthers.push(one)
    else if (!isKnown) sorted.unknown.push(one)
    else if (!isKept(keyFromText(place))) sorted.leftOut.push(one)
    // Events are in two groups, and are stored once.
    else if (!places.has(place)) sorted.wanted.push(one)
    places.add(place)
  }
  return sorted
}

function isBuiltIn(known: readonly Resource[], { group, resource }: DiscoveredResource): boolean {
  return known.some(
    one => one.group === group && one.resource === resource && one.storage !== undefined,
  )
}

const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** `widgets.example.com`; none if our account may not list definitions. */
async function definitionsOf(questions: UpstreamQuestions): Promise<ReadonlySet<string>> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const items = await itemsAt(questions, path, metadata)
  return new Set(items.map(item => textOf(memberAt(item, ['metadata', 'name']))))
}

/** The groups of aggregated servers; none if our account may not list APIServices. */
async function remoteGroups(questions: UpstreamQuestions): Promise<ReadonlySet<string>> {
  const path = '/apis/apiregistration.k8s.io/v1/apiservices'
  const items = await itemsAt(questions, path, 'application/json')
  const remote = items.map(item => objectOf(item)['spec']).map(objectOf)
  return new Set(
    remote.filter(({ service }) => service !== undefined).map(({ group }) => textOf(group)),
  )
}

const itemsMaxBytes = 64 * 1024 * 1024

async function itemsAt(
  questions: UpstreamQuestions,
  path: string,
  accept: string,
): Promise<readonly unknown[]> {
  const { code, body } = await questions.get(path, { accept, maxBytes: itemsMaxBytes })
  return code >= 300 ? [] : listOf(memberAt(JSON.parse(body.toString()), ['items']))
}
