import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { NotExact } from '../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode/transcode.ts'
import { caughtUp, startServed } from '../support/http/served.ts'
import {
  bodyBytes,
  type Exchange,
  frameBytes,
  golden,
  recordingOf,
  type RecordedWatch,
  type Recording,
} from './load.ts'
import { firstDifference, HistoryWriter, send } from './replay.ts'
import { replayWatches } from './watch-replay.ts'

const parameter = ';drop=metadata.managedFields'

/** Paths that say something of the process, or that need an upstream. */
const others =
  /^\/$|^\/(?:apis?\/?(?:[^/]+\/?)?(?:v\d\w*\/?)?|openapi|version|healthz|livez|readyz|metrics)(?:\/?$|[?/](?!.*\/))|componentstatuses|\/log\b|\/proxy\b/

function dropped(headers: Exchange['request']['headers']): Exchange['request']['headers'] {
  const accept = headers['Accept']
  const first = typeof accept === 'string' ? accept : accept?.[0]
  return {
    ...headers,
    Accept: (first || '*/*')
      .split(',')
      .map(clause => clause + parameter)
      .join(','),
  }
}

/** The text without the fields, which are found by their brackets: compact or indented. */
function withoutInJson(text: string): string {
  let rest = text
  for (;;) {
    const start = /,?\s*"managedFields": ?\[/.exec(rest)
    if (start === null) return rest
    let at = start.index + start[0].length
    let inText = false
    for (let depth = 1; depth > 0; at++) {
      const char = rest[at]
      if (inText) {
        if (char === '\\') at++
        else if (char === '"') inText = false
      } else if (char === '"') inText = true
      else if (char === '[') depth++
      else if (char === ']') depth--
    }
    rest = rest.slice(0, start.index) + rest.slice(at)
  }
}

/** The same of YAML, where a list is as far in as its name. */
function withoutInYaml(text: string): string {
  const lines: string[] = []
  let depth = -1
  for (const line of text.split('\n')) {
    const indent = /^ */.exec(line)?.[0].length ?? 0
    const isInside = depth >= 0 && (indent > depth || line.slice(depth).startsWith('- '))
    if (isInside) continue
    depth = line.trimStart() === 'managedFields:' ? indent : -1
    if (depth < 0) lines.push(line)
  }
  return lines.join('\n')
}

/** The body without what may differ: tokens, ages. */
function comparable(text: string): string {
  return text
    .replace(/"continue": ?"[^"]*"|\n {2}continue: .*/, '')
    .replace(/"(?:\d+[smhdy])+"|<(?:invalid|unknown)>/g, '"AGE"')
}

function textOf(body: Buffer): string {
  if (body[0] !== 0x6b || body[3] !== 0) return body.toString()
  const json = jsonFromProtobuf(body)
  return json instanceof NotExact ? body.toString('latin1') : Buffer.from(json).toString()
}

function isRead({ request, response, flags, area }: Exchange): boolean {
  if (request.method !== 'GET' || response.status !== 200 || others.test(request.path)) return false
  return !flags.includes('rv-at-least') && !flags.includes('write') && area !== 'auth'
}

function isObjects({ headers }: Exchange['response']): boolean {
  return /json|yaml|protobuf/.test(String(headers['content-type']))
}

async function replayDropped(
  test: typeof t,
  recording: Recording,
  hasDrop: boolean,
): Promise<void> {
  const served = await startServed(test, { hasDrop, hasShards: true })
  const writer = new HistoryWriter(served.client, recording)
  const failures: string[] = []
  let [asked, shorter] = [0, 0]
  const reads = recording.exchanges().filter(one => isRead(one) && isObjects(one.response))
  for (const exchange of reads.toSorted((a, b) => a.at_revision - b.at_revision)) {
    const { request, response, recorded_at: time } = exchange
    await writer.writeUpTo(exchange.at_revision)
    await caughtUp(served, exchange.at_revision)
    served.clock.stoppedAtMs = Date.parse(time) + 2
    const again = { ...exchange, request: { ...request, headers: dropped(request.headers) } }
    const answer = await send(served, again, '1.1')
    const body =
      answer.headers['content-encoding'] === 'gzip' ? gunzipSync(answer.body) : answer.body
    const recorded = textOf(bodyBytes(response))
    const isYaml = String(response.headers['content-type']).includes('yaml')
    const without = isYaml ? withoutInYaml(recorded) : withoutInJson(recorded)
    const wanted = comparable(hasDrop ? without : recorded)
    const ours = comparable(textOf(body))
    asked++
    if (without.length < recorded.length) shorter++
    if (answer.status !== 200 || ours !== wanted) {
      failures.push(
        `${exchange.id} ${request.path} ${answer.status} ${firstDifference(ours, wanted)}`,
      )
    }
  }
  test.strictSame(failures, [])
  test.comment(`${asked} asked, ${shorter} without something`)
  test.ok(shorter > asked / 4)
}

t.test('every recorded read is answered without managed fields where they are to be dropped', t =>
  replayDropped(t as never, golden, true),
)
t.test('so is every recorded read of shards', t =>
  replayDropped(t as never, recordingOf('shards'), true),
)
t.test('the parameter means nothing where it is not served', t =>
  replayDropped(t as never, recordingOf('shards'), false),
)

t.test('every recorded watch is sent without managed fields', async t => {
  const served = await startServed(t, { hasDrop: true, hasShards: true })
  const recording = recordingOf('shards')
  const watches = recording
    .watches()
    .filter(({ frames }) => frames.every(frame => frame.raw !== undefined))
    .map((watch): RecordedWatch => ({
      ...watch,
      request: { ...watch.request, headers: dropped(watch.request.headers) },
      frames: watch.frames.map(frame => ({
        ...frame,
        raw: withoutInJson(frameBytes(frame).toString()),
      })),
    }))
  const writer = new HistoryWriter(served.client, recording)
  await replayWatches(t, served, { watches, writer, exceptions: {} })
})
