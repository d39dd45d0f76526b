/** The conversion of a definition's objects between its versions. */

import { checkWebhookService, checkWebhookUrl } from '../../validation/webhook-clients.ts'
import { dns1035Label } from '../../validation/formats.ts'
import type { Place } from '../../validation/place.ts'

export function checkConversion(spec: Place): void {
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
  checkReviewVersions(reviews)
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
