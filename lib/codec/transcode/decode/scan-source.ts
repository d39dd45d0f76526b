/** Makes the source that finds the fields of a message: the part that all compiled functions begin
 *  with. */

import type { MessageField, MessageType } from '../../schema/schema.ts'
import { wireBytes, wireFixed64, wireVarint } from '@watchglass/base'
import { lengthSource, skipSource, tagOf } from './source.ts'

/** Source that declares the variables of a scan, for every field where it begins and ends. */
export function variablesSource({ fields }: MessageType): string {
  const variables = fields.map(({ number }) => `, a${number} = -1, z${number} = -1`)
  return `let i = s, k = 0, n = 0, t = 0${variables.join('')};`
}

/** The first pass. A tag is known with its wire type; any other, or one in more bytes than it
 *  needs, is not exact. */
export function scanSource(type: MessageType): string {
  const cases = type.fields.map(field => caseSource(type, field)).join('\n')
  return `
    while (i < e) {
      k = i; t = I[i++];
      if (t > 127) { n = I[i++]; t = n > 0 && n < 128 ? t & 127 | n << 7 : -1; }
      switch (t) {
        ${cases}
        default: unknownField(${JSON.stringify({ name: type.name, numbers: type.fields.map(({ number }) => number) })}, O, k, e);
      }
    }
    if (i !== e) malformed(${JSON.stringify(type.name)});`
}

function caseSource(type: MessageType, field: MessageField): string {
  const { number } = field
  const a = `a${number}`
  const z = `z${number}`
  const first = `if (${a} === -1) ${a} = k;`
  const bytes = tagOf(number, wireBytes)
  const scalarWire = wireOf(field.type)
  if (scalarWire !== wireBytes) {
    const step = scalarWire === wireFixed64 ? 'i += 8;' : skipSource
    const scalar = tagOf(number, scalarWire)
    return field.container === 'single'
      ? `case ${scalar}: ${a} = i; ${step} break;`
      : `case ${scalar}: ${first} ${step} ${z} = i; break;
         case ${bytes}: ${lengthSource} if (n > 0) { ${first} ${z} = i + n; } i += n; break;`
  }
  if (field.container !== 'single') {
    return `case ${bytes}: ${first} ${lengthSource} ${z} = i += n; break;`
  }
  const once = isMerged(field) ? `if (${a} !== -1) repeated(${JSON.stringify(type.name)});` : ''
  return `case ${bytes}: ${once} ${lengthSource} ${a} = i; ${z} = i += n; break;`
}

/** True for a message whose occurrences decoders merge. Times take the last. */
function isMerged({ type }: MessageField): boolean {
  return !['string', 'bytes', 'time', 'microtime'].includes(type)
}

/** The wire type of values of a type; of a list, when it is not packed. */
export function wireOf(type: string): number {
  if (type === 'float64') return wireFixed64
  return type === 'bool' || type === 'int32' || type === 'int64' ? wireVarint : wireBytes
}
