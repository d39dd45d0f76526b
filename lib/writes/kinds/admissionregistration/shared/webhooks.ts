/** The webhooks of a configuration. */

import type { JsonValue } from '@watchglass/go'
import { fullyQualifiedName } from '../../../validation/domain-names.ts'
import { dns1035Label } from '../../../validation/formats.ts'
import { isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'
import { checkLabelSelector } from '../../../validation/selectors.ts'
import { checkWebhookService, checkWebhookUrl } from '../../../validation/webhook-clients.ts'
import { checkConditions, checkRule, Expressions } from './matching.ts'

const harmless = ['None', 'NoneOnDryRun']

const reviewVersions = ['v1', 'v1beta1']

/** Old objects may keep values that new ones may not have. */
export function checkWebhooks(webhooks: Place, old?: Place): void {
  const areHarmless = old?.items.every(hook => harmless.includes(hook.in('sideEffects').text))
  const conditionsOf = (hook: Place): JsonValue => hook.in('matchConditions').value ?? null
  const [now, before] = [webhooks, old].map(list => list?.items.map(conditionsOf) ?? null)
  const keepsConditions = old !== undefined && isSame(now, before)
  const names = new Set<string>()
  for (const hook of webhooks.items) {
    checkWebhook(hook, { areHarmless: areHarmless !== false, keepsConditions })
    checkReviewVersions(hook.in('admissionReviewVersions'))
    const name = hook.in('name')
    if (name.text !== '' && names.has(name.text)) name.duplicate()
    names.add(name.text)
  }
}

interface WebhookOptions {
  readonly areHarmless: boolean
  readonly keepsConditions: boolean
}

function checkWebhook(hook: Place, { areHarmless, keepsConditions }: WebhookOptions): void {
  fullyQualifiedName(hook.in('name'))
  for (const rule of hook.in('rules').items) checkRule(rule)
  checkChoices(hook)
  const effects = hook.in('sideEffects')
  const allowed = areHarmless ? harmless : [...harmless, 'Some', 'Unknown']
  if (effects.isSet) effects.oneOf(allowed, 'unsupported')
  else effects.required(`must specify one of ${allowed.join(', ')}`)
  const seconds = hook.in('timeoutSeconds')
  if (seconds.isSet && (seconds.number > 30 || seconds.number < 1)) {
    seconds.invalid('the timeout value must be between 1 and 30 seconds')
  }
  checkLabelSelector(hook.in('namespaceSelector'))
  checkLabelSelector(hook.in('objectSelector'))
  const reinvocation = hook.in('reinvocationPolicy')
  if (reinvocation.isSet) reinvocation.oneOf(['IfNeeded', 'Never'], 'unsupported')
  const client = hook.in('clientConfig')
  const [url, service] = [client.in('url'), client.in('service')]
  if (url.isSet === service.isSet) client.required('exactly one of url or service is required')
  else if (url.isSet) checkWebhookUrl(url)
  else checkWebhookService(service)
  if (!keepsConditions) checkConditions(hook.in('matchConditions'), new Expressions(hook))
}

function checkChoices(hook: Place): void {
  for (const [name, values] of [
    ['failurePolicy', ['Fail', 'Ignore']],
    ['matchPolicy', ['Equivalent', 'Exact']],
  ] as const) {
    if (hook.in(name).isSet) hook.in(name).oneOf(values, 'unsupported')
  }
}

function checkReviewVersions(versions: Place): void {
  if (versions.size === 0) {
    versions.required(`must specify one of ${reviewVersions.join(', ')}`)
    return
  }
  const seen = new Set<string>()
  for (const version of versions.items) {
    if (seen.has(version.text)) version.invalid('duplicate version')
    else version.mustBe(dns1035Label)
    seen.add(version.text)
  }
  if (!versions.texts.some(text => reviewVersions.includes(text))) {
    versions.invalid(`must include at least one of ${reviewVersions.join(', ')}`)
  }
}
