/** Bundles of certificates that are projected into pods. */

import { checkLabelSelector } from '../selectors.ts'
import type { Place } from '../place.ts'
import { checkUnreserved } from './paths.ts'

export function checkTrustBundle(bundle: Place): void {
  const [name, signer, path] = [bundle.in('name'), bundle.in('signerName'), bundle.in('path')]
  const selector = bundle.in('labelSelector')
  if (name.isSet && signer.isSet) {
    bundle.invalid('only one of name and signerName may be used')
  } else if (name.isSet) {
    if (name.text === '') name.required('must be a valid object name')
    if (selector.isSet) selector.invalid('labelSelector must be unset if name is specified')
  } else if (signer.isSet) {
    if (signer.text === '') signer.required('must be a valid signer name')
    checkLabelSelector(selector)
  } else bundle.required('either name or signerName must be specified')
  if (path.text === '') path.required()
  checkUnreserved(path)
}
