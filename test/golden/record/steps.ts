/** A collection that changes in known steps, whose revisions have names: what questions about
 *  revisions are asked of. */

import { mergePatch } from './media-types.ts'
import { matrix } from './questions/part.ts'
import type { Recorder } from './recorder.ts'

const names = ['m-a', 'm-b', 'm-c', 'm-d', 'm-e', 'm-f', 'm-g'] as const

/** Sets the marks before, created, updated, deleted, reborn and end. */
export async function makeSteps(recorder: Recorder): Promise<void> {
  // They are among the objects of the recordings, which have lost their steps.
  for (const name of names) await recorder.tell('DELETE', `${matrix}/${name}`)
  await recorder.mark('before')
  for (const [i, name] of names.entries()) {
    const labels = { v: '1', half: i < 4 ? 'lo' : 'hi' }
    await recorder.tell('POST', matrix, { metadata: { name, labels }, data: { v: '1' } })
  }
  await recorder.mark('created')
  for (const name of ['m-c', 'm-e']) {
    const changed = { metadata: { labels: { v: '2' } }, data: { v: '2' } }
    await recorder.tell('PATCH', `${matrix}/${name}`, changed, mergePatch)
  }
  await recorder.mark('updated')
  for (const name of ['m-b', 'm-g']) await recorder.tell('DELETE', `${matrix}/${name}`)
  await recorder.mark('deleted')
  for (const name of ['m-b', 'm-g']) {
    await recorder.tell('POST', matrix, {
      metadata: { name, labels: { v: '3' } },
      data: { v: '3' },
    })
  }
  await recorder.mark('reborn')
  await recorder.tell('PATCH', `${matrix}/m-a`, { data: { v: 'end' } }, mergePatch)
  await recorder.mark('end')
}
