/** The matchConditions of webhooks. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import { type CompiledPolicy, compilePolicy } from '../../validation/policy-expressions.ts'
import type { AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'
import type { Invocation } from '../webhooks/dispatch.ts'
import type { Hook } from '../webhooks/hooks.ts'
import { conditionsCostMax, meetsConditions } from './evaluation.ts'
import { inputOf } from './input.ts'

const compiled = new WeakMap<Hook, CompiledPolicy>()

/** True if the hook is to be asked. A condition that fails refuses, or spares the hook, by its
 *  failure policy. */
export async function holdsConditions(
  attributes: AdmissionAttributes,
  { hook, resource }: Invocation,
): Promise<boolean> {
  let policy = compiled.get(hook)
  if (policy === undefined) {
    const conditions: JsonValue[] = [...hook.conditions]
    const spec: JsonObject = new Map([['matchConditions', conditions]])
    policy = compilePolicy(spec)
    compiled.set(hook, policy)
  }
  const input = await inputOf(attributes, { resource, compiled: policy }, undefined)
  const result = await attributes.session.slice.take(
    meetsConditions(policy, input, conditionsCostMax),
  )
  if (typeof result === 'boolean') return result
  if (hook.ignoresFailures) return false
  throw forbidden(attributes, result)
}
