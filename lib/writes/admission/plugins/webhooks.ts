/** MutatingAdmissionWebhook and ValidatingAdmissionWebhook: those whom configurations name are
 *  asked. */

import { type JsonObject, textInOrder } from '@watchglass/go'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import type { ResourceName } from '../stored-objects.ts'
import type { HookCaller } from '../webhooks/caller.ts'
import { type Invocation, mutateBy, validateBy } from '../webhooks/dispatch.ts'
import { type Hook, hooksOf } from '../webhooks/hooks.ts'
import { matchedResource } from '../webhooks/matching.ts'

const group = 'admissionregistration.k8s.io'

/** Resources that no webhook is asked about: it could make itself irremovable. */
const exempt = new Set([
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
])

/** Whether the conditions of a hook (expressions of CEL) hold; refuses by throwing. */
export type HoldsConditions = (
  attributes: AdmissionAttributes,
  invocation: Invocation,
) => Promise<boolean>

export interface WebhookParts {
  readonly caller: HookCaller
  /** Undefined: conditions are not looked at, and hooks are asked as if they held. */
  readonly holdsConditions?: HoldsConditions | undefined
}

export function createMutatingWebhooks(parts: WebhookParts): AdmissionPlugin {
  const hooksFor = source('mutatingwebhookconfigurations')
  return {
    name: 'MutatingAdmissionWebhook',
    mutate: attributes =>
      isAsked(attributes) ? mutateInOrder(attributes, hooksFor, parts) : undefined,
  }
}

export function createValidatingWebhooks(parts: WebhookParts): AdmissionPlugin {
  const hooksFor = source('validatingwebhookconfigurations')
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: attributes =>
      isAsked(attributes) ? validateAtOnce(attributes, hooksFor, parts) : undefined,
  }
}

function isAsked({ session }: AdmissionAttributes): boolean {
  return session.kind.group !== group || !exempt.has(session.kind.resource)
}

type HooksFor = (attributes: AdmissionAttributes) => Promise<readonly Hook[]>

/** The hooks of all configurations, by the names of these. */
function source(resource: string): HooksFor {
  const name: ResourceName = [group, 'v1', resource]
  const known = new WeakMap<JsonObject, readonly Hook[]>()
  return async ({ objects, session }) => {
    const configurations = await objects.list(session, name)
    return configurations.flatMap(configuration => {
      const hooks = known.get(configuration) ?? hooksOf(configuration)
      known.set(configuration, hooks)
      return hooks
    })
  }
}

async function invocationOf(
  attributes: AdmissionAttributes,
  hook: Hook,
  { holdsConditions }: WebhookParts,
): Promise<Invocation | undefined> {
  await attributes.session.slice.giveWay()
  const resource = await matchedResource(attributes, hook)
  if (resource === undefined) return undefined
  const invocation = { hook, resource }
  if (hook.conditions.length === 0 || holdsConditions === undefined) return invocation
  return (await holdsConditions(attributes, invocation)) ? invocation : undefined
}

async function mutateInOrder(
  attributes: AdmissionAttributes,
  hooksFor: HooksFor,
  parts: WebhookParts,
): Promise<void> {
  const { reinvocation, object } = attributes
  const hooks = await hooksFor(attributes)
  if (hooks.length === 0) return
  const round = reinvocation.of('MutatingAdmissionWebhook')
  const text = (): string => (object === undefined ? '' : textInOrder(object))
  if (reinvocation.isSecond && round.output !== text()) round.requirePrevious()
  for (const hook of hooks) {
    const invocation = await invocationOf(attributes, hook, parts)
    if (invocation === undefined) continue
    if (reinvocation.isSecond && !round.required.has(hook.id)) continue
    if (await mutateBy(attributes, invocation, parts.caller)) {
      round.requirePrevious()
      reinvocation.isNeeded = true
    }
    if (hook.isReinvoked) round.previous.add(hook.id)
  }
  round.output = text()
}

async function validateAtOnce(
  attributes: AdmissionAttributes,
  hooksFor: HooksFor,
  parts: WebhookParts,
): Promise<void> {
  const invocations: Invocation[] = []
  for (const hook of await hooksFor(attributes)) {
    const invocation = await invocationOf(attributes, hook, parts)
    if (invocation !== undefined) invocations.push(invocation)
  }
  const results = await Promise.allSettled(
    invocations.map(invocation => validateBy(attributes, invocation, parts.caller)),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
