/** The conversion of a definition's objects between its versions. */

import { checkWebhookService, checkWebhookUrl } from '../../validation/webhook-clients.ts'
import { NamedText } from '../../field-errors.ts'
import { dns1035Label } from '../../validation/formats.ts'
import { pemBlocksInBase64 } from '@watchglass/go'
import { certificatesIn } from '../../validation/x509.ts'
import { isEstablished } from './established.ts'
import type { Place } from '../../validation/place.ts'

/** @param old the definition before, if there was one */
export function checkConversion(spec: Place, old: Place | undefined): void {
  const conversion = spec.in('conversion')
  if (!conversion.isSet) return
  const [strategy, client, reviews] = [
    conversion.in('strategy'),
    conversion.in('webhookClientConfig'),
    conversion.in('conversionReviewVersions'),
  ]
  if (strategy.text !== 'None' && spec.in('preserveUnknownFields').isTrue) {
    strategy.invalid('must be None if spec.preserveUnknownFields is true')
  }
  strategy.textOneOf(['None', 'Webhook'], 'required')
  if (strategy.text !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook'
    if (client.isSet) client.forbidden(detail)
    if (reviews.size > 0) reviews.forbidden(detail)
    return
  }
  const [url, service] = [client.in('url'), client.in('service')]
  if (!client.isSet) client.required('required when strategy is set to Webhook')
  else if (url.isSet === service.isSet) {
    client.required('exactly one of url or service is required')
  } else if (url.isSet) checkWebhookUrl(url)
  else checkWebhookService(service)
  if (!allowsBrokenBundle(old)) checkBundle(client.in('caBundle'))
  checkReviewVersions(reviews)
}

/** A definition that is not served yet may say anything, and one that did may go on. */
function allowsBrokenBundle(old: Place | undefined): boolean {
  if (old === undefined || !isEstablished(old)) return true
  const bundle = old.in('spec', 'conversion', 'webhookClientConfig', 'caBundle').text
  return bundle !== '' && problemOfBundle(bundle) !== undefined
}

function checkBundle(bundle: Place): void {
  const problem = bundle.text === '' ? undefined : problemOfBundle(bundle.text)
  if (problem !== undefined) {
    bundle.invalid(`unable to load root certificates: ${problem}`, new NamedText(bundle.text))
  }
}

/** The problem of authorities of which none can be read. */
function problemOfBundle(text: string): string | undefined {
  const blocks = pemBlocksInBase64(text)
  if (blocks.length === 0) return 'unable to parse bytes as PEM block'
  const certificates = blocks.filter(
    ({ type, hasHeaders }) => type === 'CERTIFICATE' && !hasHeaders,
  )
  const [first, ...others] = certificates.map(({ bytes }) => certificatesIn(bytes))
  if (first === undefined) return 'no valid certificate authority data seen'
  if ([first, ...others].some(found => typeof found === 'number' && found > 0)) return undefined
  return `failed to parse certificate: ${first}`
}

function checkReviewVersions(reviews: Place): void {
  if (reviews.size === 0) {
    reviews.required()
    return
  }
  const seen = new Set<string>()
  for (const version of reviews.items) {
    if (seen.has(version.text)) version.invalid('duplicate version')
    else version.mustBe(dns1035Label)
    seen.add(version.text)
  }
  if (!['v1', 'v1beta1'].some(version => seen.has(version))) {
    reviews.invalid('must include at least one of v1, v1beta1')
  }
}
