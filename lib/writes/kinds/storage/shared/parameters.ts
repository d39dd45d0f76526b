/** The driver of a class, and the parameters that are for it. */

import { qualifiedName } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'

export function checkProvisioner(provisioner: Place): void {
  const name = provisioner.text.toLowerCase()
  if (name === '') provisioner.required()
  else provisioner.invalidFor(qualifiedName(name), name)
}

export const mostBytes: number = 256 * 1024

export function checkParameters(parameters: Place): void {
  if (parameters.size > 512) {
    parameters.tooLong(512)
    return
  }
  let bytes = 0
  for (const [key, value] of parameters.entries) {
    if (key === '') parameters.invalid('field can not be empty.', '')
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value.text)
  }
  if (bytes > mostBytes) parameters.tooLong(mostBytes)
}
