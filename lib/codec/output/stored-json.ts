/** A value of etcd as JSON, whatever form it is stored in: for people who look into an etcd, not for what the API serves. */

import { hasEnvelope } from '../transcode/envelope.ts'
import { NotExact } from '../not-exact.ts'
import { jsonFromProtobuf } from '../transcode/transcode.ts'

/** The JSON of a stored value, without a newline at its end: protobuf is converted as it is, JSON stays as it is. */
export function jsonFromStored(value: Uint8Array): Uint8Array | NotExact {
  if (hasEnvelope(value, 0, value.length)) {
    const json = jsonFromProtobuf(value)
    return json instanceof NotExact ? json : withoutNewline(json)
  }
  const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString()
  if (text.startsWith(encryptedPrefix)) return new NotExact('value is encrypted')
  try {
    JSON.parse(text)
  } catch {
    return new NotExact('value is neither Kubernetes protobuf nor JSON')
  }
  return withoutNewline(value)
}

/** What kube-apiserver puts before everything that it encrypts. */
const encryptedPrefix = 'k8s:enc:'

function withoutNewline(json: Uint8Array): Uint8Array {
  return json.at(-1) === 0x0a ? json.subarray(0, -1) : json
}
