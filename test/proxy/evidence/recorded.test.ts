/** Before an upstream that answers with the bytes of a recorded kube-apiserver 1.34: evidence finds
 *  that we write them alike, and finds it where we do not, because we take it for another version
 *  or because it has become another. */

import t, { type Test } from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { areEqualButForAges } from '../../../lib/proxy/evidence/ages.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { bodyBytes, type Exchange, recordingOf } from '../../golden/load.ts'
import { HistoryWriter } from '../../golden/replay.ts'
import { originOf, type Proxied, startProxied } from '../../support/upstream/proxied.ts'
import { recordedBefore } from '../../support/upstream/recorded-answers.ts'

const recording = recordingOf('1.34')
/** At this revision every kind was asked for in every form. */
const { at_revision: revision } = recording.exchanges().find(({ area }) => area === 'kinds-list')!
const kindReads = recording
  .exchanges()
  .filter(({ area, at_revision: at }) => area.startsWith('kinds-') && at === revision)

interface Recorded extends Proxied {
  /** Answers of the evidence's questions that were recorded. */
  readonly count: () => number
}

async function startRecorded(t: Test, version: string): Promise<Recorded> {
  let proxied: Proxied | undefined = undefined as Proxied | undefined
  let count = 0
  const answers = recordedBefore(recording, () => proxied?.upstream.service.port)
  proxied = await startProxied(t, {
    service: { isKept: undefined },
    upstream: {
      service: { schema: schemaOf('1.34') },
      minor: version,
      before: async (request, body) => {
        const answer = await answers(request, body)
        if (answer !== undefined) count++
        return answer
      },
    },
    fill: client => new HistoryWriter(client, recording).writeUpTo(revision),
  })
  return { ...proxied, count: () => count }
}

/** Waits until nothing more comes of it. */
async function settled({ service }: Proxied): Promise<void> {
  let before = -1
  for (;;) {
    const { comparisons, forms } = service.evidence!.figures
    const now = comparisons.same + comparisons.differs
    if (now === before && forms.proven > 100) return
    before = now
    await new Promise<void>(resolve => systemClock.setTimer(1_000, resolve))
  }
}

/** Asks what was asked of the recorded server; how often we answered ourselves, and what was wrong
 *  then. */
async function replayed({ get }: Proxied): Promise<{ mirrored: number; wrong: string[] }> {
  let mirrored = 0
  const wrong: string[] = []
  for (const exchange of kindReads) {
    const { request } = exchange
    const accept = request.headers['Accept']
    const answer = await get(request.path, accept === undefined ? {} : { accept: String(accept) })
    if (!originOf(answer).startsWith('mirror')) continue
    mirrored++
    if (!isRecorded(exchange, answer.body)) wrong.push(`${request.path} ${String(accept)}`)
  }
  return { mirrored, wrong }
}

/** The recording is of another day: ages are another. */
function isRecorded({ response, recorded_at: at }: Exchange, ours: Buffer): boolean {
  const theirs = bodyBytes(response)
  const late = (Date.now() - Date.parse(at)) / 1000
  return ours.equals(theirs) || areEqualButForAges(ours.toString(), theirs.toString(), late + 60)
}

function differences({ service }: Proxied): string[] {
  const found = service.evidence!.differences()
  return found.map(({ resource, form, at }) => `${resource.resource} ${form} ${at}`)
}

t.test('what a recorded 1.34 shows is proven in every form', async t => {
  const proxied = await startRecorded(t, '34')
  await settled(proxied)
  const { forms, comparisons, bytes } = proxied.service.evidence!.figures
  t.comment(`${JSON.stringify(forms)} ${JSON.stringify(comparisons)} ${bytes} bytes`)
  t.strictSame(differences(proxied), [])
  t.ok(proxied.count() > 150, `${proxied.count()} answers are recorded ones`)
  const { mirrored, wrong } = await replayed(proxied)
  t.strictSame(wrong, [])
  t.comment(`${mirrored} of ${kindReads.length} reads are answered here`)
  t.ok(mirrored > kindReads.length * 0.6)
})

t.test(
  'taken for a 1.36, it is found out wherever it is none, and no wrong byte goes out',
  async t => {
    const proxied = await startRecorded(t, '36')
    await settled(proxied)
    const found = differences(proxied)
    t.comment(found.join(', '))
    for (const known of [
      'serviceaccounts json Table',
      'ingressclasses json Table',
      'nodes json Table',
    ]) {
      t.ok(
        found.some(text => text.startsWith(known)),
        known,
      )
    }
    const { mirrored, wrong } = await replayed(proxied)
    t.strictSame(wrong, [])
    t.comment(`${mirrored} of ${kindReads.length} reads are answered here`)
    t.ok(mirrored > kindReads.length * 0.5)
  },
)
