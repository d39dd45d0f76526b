/** Webhooks, as the configurations of a cluster declare them. */

import { itemsOf, type JsonObject, type JsonValue } from '@watchglass/go'
import { metaText, numberOf, textOf } from '../../metadata.ts'
import { partOf, partsOf } from '../pod-parts.ts'

export interface HookRule {
  readonly groups: readonly string[]
  readonly versions: readonly string[]
  /** With subresources, as `pods/status`. */
  readonly resources: readonly string[]
  readonly operations: readonly string[]
  /** Cluster, Namespaced or `*`. */
  readonly scope: string
  /** Names of objects; empty: all. Only rules of policies have some. */
  readonly names: readonly string[]
}

export interface HookClient {
  readonly url: string
  readonly service: HookService | undefined
  /** PEM, in base64; empty: whoever the system trusts. */
  readonly authority: string
}

export interface HookService {
  readonly namespace: string
  readonly name: string
  readonly path: string
  readonly port: number
}

export interface Hook {
  readonly name: string
  readonly configuration: string
  /** Different for each hook of a server. */
  readonly id: string
  readonly client: HookClient
  readonly rules: readonly HookRule[]
  readonly namespaceSelector: JsonValue
  readonly objectSelector: JsonValue
  /** Requests for other versions of the same objects match, too. */
  readonly matchesEquivalents: boolean
  readonly ignoresFailures: boolean
  readonly sideEffects: string
  readonly timeoutSeconds: number
  readonly reviewVersions: readonly string[]
  readonly isReinvoked: boolean
  /** Expressions of CEL. */
  readonly conditions: readonly JsonObject[]
}

/** The hooks of a configuration, in their order. */
export function hooksOf(configuration: JsonObject): readonly Hook[] {
  const owner = metaText(configuration, 'name')
  const seen = new Map<string, number>()
  return partsOf(configuration, 'webhooks').map(hook => {
    const name = textOf(hook.get('name'))
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return {
      name,
      configuration: owner,
      id: `${owner}/${name}/${count}`,
      client: clientOf(partOf(hook, 'clientConfig')),
      rules: partsOf(hook, 'rules').map(ruleOf),
      namespaceSelector: partOf(hook, 'namespaceSelector'),
      objectSelector: partOf(hook, 'objectSelector'),
      matchesEquivalents: hook.get('matchPolicy') !== 'Exact',
      ignoresFailures: hook.get('failurePolicy') === 'Ignore',
      sideEffects: textOf(hook.get('sideEffects')),
      timeoutSeconds: numberOf(hook.get('timeoutSeconds')) ?? 10,
      reviewVersions: itemsOf(hook.get('admissionReviewVersions')).map(textOf),
      isReinvoked: hook.get('reinvocationPolicy') === 'IfNeeded',
      conditions: partsOf(hook, 'matchConditions'),
    }
  })
}

/** The client of a `clientConfig`, which webhooks of conversions have, too. */
export function clientOf(config: JsonObject): HookClient {
  const service = config.get('service')
  return {
    url: textOf(config.get('url')),
    service:
      service instanceof Map
        ? {
            namespace: textOf(service.get('namespace')),
            name: textOf(service.get('name')),
            path: textOf(service.get('path')),
            port: numberOf(service.get('port')) ?? 443,
          }
        : undefined,
    authority: textOf(config.get('caBundle')),
  }
}

export function ruleOf(rule: JsonObject): HookRule {
  const texts = (name: string): string[] => itemsOf(rule.get(name)).map(textOf)
  return {
    groups: texts('apiGroups'),
    versions: texts('apiVersions'),
    resources: texts('resources'),
    operations: texts('operations'),
    scope: textOf(rule.get('scope')) || '*',
    names: texts('resourceNames'),
  }
}
