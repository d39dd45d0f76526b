/** `watchglass decode` and `encode`: stored values of etcd to JSON or YAML, and back. */

import { CacheError, keyFromText, NotExact, singleKey } from '@watchglass/base'
import { indentJson, jsonFromStored, protobufFromJson, yamlFromJson } from '@watchglass/codec'
import { etcdConnection } from './plan/etcd-connection.ts'
import type { OptionValues } from '../options/option-values.ts'
import { GrpcClient } from '@watchglass/etcd'
import type { CommandContext } from './context.ts'
import { convertLines, readInput, writeOutput } from './standard-streams.ts'

/** Prints a stored value, or each of many. */
export async function decode({ values, operands, signal }: CommandContext): Promise<number> {
  const [key, ...rest] = operands
  if (rest.length > 0) throw new CacheError('invalid_request', 'decode takes one key at a time')
  if (values.switch('jsonl')) {
    if (key !== undefined) throw new CacheError('invalid_request', '--jsonl takes no key')
    await convertLines(decodedLine)
    return 0
  }
  const render = rendererOf(values)
  const value = key === undefined ? await inputOf(values) : await valueOf(values, key, signal)
  await writeOutput(render(exactly(jsonFromStored(value))))
  return 0
}

/** Prints the stored form of a JSON object, or of each of many. */
export async function encode({ values }: CommandContext): Promise<number> {
  if (values.switch('jsonl')) await convertLines(encodedLine)
  else await writeOutput(exactly(protobufFromJson(await readInput())))
  return 0
}

/** `{"value": base64}` to `{"json": text}`, or to `{"error": reason}`. */
export function decodedLine(line: string): string {
  const value = memberOf(line, 'value')
  if (value === undefined || !isBase64(value)) {
    return JSON.stringify({ error: 'line is not {"value": base64}' })
  }
  const json = jsonFromStored(Buffer.from(value, 'base64'))
  return JSON.stringify(
    json instanceof NotExact ? { error: json.reason } : { json: Buffer.from(json).toString() },
  )
}

/** `{"json": text}` to `{"value": base64}`, or to `{"error": reason}`. */
export function encodedLine(line: string): string {
  const json = memberOf(line, 'json')
  if (json === undefined) return JSON.stringify({ error: 'line is not {"json": text}' })
  const value = protobufFromJson(Buffer.from(json))
  return JSON.stringify(
    value instanceof NotExact
      ? { error: value.reason }
      : { value: Buffer.from(value).toString('base64') },
  )
}

function exactly<T>(result: T | NotExact): T {
  if (result instanceof NotExact) throw new CacheError('unsupported', result.reason)
  return result
}

function memberOf(line: string, name: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(line)
    const value = (parsed as Record<string, unknown> | null)?.[name]
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function inputOf(values: OptionValues): Promise<Buffer> {
  if (values.text('etcd') !== undefined) {
    throw new CacheError('invalid_request', '--etcd needs a KEY to read')
  }
  return readInput()
}

async function valueOf(
  values: OptionValues,
  key: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const endpoints = values.all('etcd')
  const client = new GrpcClient(
    etcdConnection(values, endpoints.length === 0 ? ['http://127.0.0.1:2379'] : endpoints),
  )
  try {
    const { entries } = await client.range({ range: singleKey(keyFromText(key)) }, signal)
    const [entry] = entries
    if (entry === undefined) throw new CacheError('not_found', `etcd has no key ${key}`)
    return entry.value
  } finally {
    await client.close()
  }
}

function rendererOf(values: OptionValues): (json: Uint8Array) => Uint8Array {
  const output = values.text('output') ?? ''
  switch (output) {
    case 'json':
      return json => Buffer.concat([json, Buffer.from('\n')])
    case 'pretty':
      return json => indentJson(Buffer.concat([json, Buffer.from('\n')]))
    case 'yaml':
      return json => exactly(yamlFromJson(json))
    default:
      throw new CacheError('invalid_request', `--output is "${output}": json, pretty or yaml`)
  }
}
