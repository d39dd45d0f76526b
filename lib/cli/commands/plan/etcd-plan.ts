/** Which etcd has which resources (`--etcd-for`), and which resources are not mirrored
 *  (`--exclude`). */

import { listed, type OptionValues } from '../../options/option-values.ts'
import { builtInResources, type Resource } from '@watchglass/kube'
import type { Schema } from '@watchglass/codec'
import { invalid } from '../../options/invalid.ts'
import { etcdForOption } from '../../options/mirrored.ts'
import { valuesOf } from '../../options/rules.ts'

export interface EtcdPlan {
  /** Endpoints, as given, and the etcd prefixes that are kept there. */
  readonly others: ReadonlyMap<string, readonly string[]>
  /** etcd prefixes that are neither mirrored nor served. */
  readonly excluded: readonly string[]
  /** etcd prefixes that alone are kept; undefined: all that are not excluded. */
  readonly cacheOnly: readonly string[] | undefined
  /** etcd prefixes that are not kept. */
  readonly neverCache: readonly string[]
  /** etcd prefixes that are mirrored from the start where the upstream is mirrored; undefined:
   *  all. */
  readonly atStart: readonly string[] | undefined
}

/** The mirrored etcds of the options, for resources below an etcd prefix such as `/registry`. */
export function etcdPlanOf(
  values: OptionValues,
  {
    schema,
    prefix,
    configured,
  }: {
    readonly schema: Schema
    /** `/registry` */
    readonly prefix: string
    readonly configured: readonly Resource[]
  },
): EtcdPlan {
  const known = [...builtInResources(schema, prefix), ...configured]
  const others = new Map<string, string[]>()
  for (const { resource, endpoints } of valuesOf(values, etcdForOption)) {
    const prefixes = others.get(endpoints) ?? []
    prefixes.push(storagePrefix('--etcd-for', resource, { prefix, known }))
    others.set(endpoints, prefixes)
  }
  const prefixesOf = (name: string): string[] =>
    listed(values, name).map(one => storagePrefix(`--${name}`, one, { prefix, known }))
  const cacheOnly = prefixesOf('cache-only')
  const mirror = values.text('mirror') ?? 'on-demand'
  return {
    others,
    excluded: prefixesOf('exclude'),
    cacheOnly: cacheOnly.length === 0 ? undefined : cacheOnly,
    neverCache: prefixesOf('never-cache'),
    atStart: mirror === 'all' ? undefined : mirror === 'on-demand' ? [] : prefixesOf('mirror'),
  }
}

/** The place where a resource is stored: `secrets`, `deployments.apps`, or `widgets.example.com`,
 *  of a definition that may be there or not. */
export function storagePrefix(
  option: string,
  name: string,
  { prefix, known }: { readonly prefix: string; readonly known: readonly Resource[] },
): string {
  const dot = name.indexOf('.')
  const resource = dot < 0 ? name : name.slice(0, dot)
  const group = dot < 0 ? undefined : name.slice(dot + 1)
  const found = known.find(
    one =>
      one.resource === resource &&
      one.storage !== undefined &&
      (group === undefined || one.group === group),
  )
  if (found?.storage !== undefined) return found.storage.prefix
  if (group !== undefined && /^[a-z0-9.-]+$/.test(name)) return `${prefix}/${group}/${resource}/`
  throw invalid(
    `${option} "${name}" is not a known resource; name a custom resource as widgets.example.com`,
  )
}
