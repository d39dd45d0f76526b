import t from 'tap'
import { Handshakes } from '../../../../lib/http/limits/handshakes.ts'
import { Starts } from '../../../../lib/http/limits/starts.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'

/** Starts on a clock that moves by what tasks take, and what has begun. */
class Stage {
  nowMs = 0
  readonly begun: string[] = []
  readonly starts = new Starts({ monotonicMs: () => this.nowMs })

  add(connection: object, name: string, isKnown = true, tookMs = 0): void {
    this.starts.add(connection, isKnown, () => {
      this.begun.push(name)
      this.nowMs += tookMs
    })
  }

  /** What has begun since it was last asked. */
  since(): string {
    return this.begun.splice(0).join(' ')
  }
}

t.test('a few requests of a connection begin as they are read, and others in turn', async t => {
  const stage = new Stage()
  const [a, b] = [{}, {}]
  for (let i = 1; i <= 7; i++) stage.add(a, `a${i}`)
  stage.add(b, 'b1')
  t.equal(stage.since(), 'a1 a2 a3 a4', 'b waits behind nobody but those that wait')
  for (let i = 2; i <= 3; i++) stage.add(b, `b${i}`)
  await settle()
  await settle()
  t.equal(stage.since(), 'a5 b1 a6 b2 a7 b3')
  t.equal(stage.starts.waiting, 0)
})

t.test('requests begin for 1.5 ms in each turn of the event loop', async t => {
  const stage = new Stage()
  for (let i = 1; i <= 6; i++) stage.add({}, `${i}`, true, 0.5)
  t.equal(stage.since(), '1 2 3')
  await settle()
  t.equal(stage.since(), '4 5 6')
})

t.test('known clients go first, and strangers have a part of each turn', async t => {
  const stage = new Stage()
  for (let i = 1; i <= 4; i++) stage.add({}, `s${i}`, false, 0.5)
  for (let i = 1; i <= 6; i++) stage.add({}, `k${i}`, true, 0.5)
  t.equal(stage.since(), 's1 k1 k2')
  await settle()
  t.equal(stage.since(), 'k3 k4 k5 s2')
  await settle()
  t.equal(stage.since(), 'k6 s3')
  await settle()
  t.equal(stage.since(), 's4')
})

t.test('a few handshakes begin in each turn, and addresses take turns', async t => {
  const handshakes = new Handshakes(new FakeClock())
  const begun: string[] = []
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) {
    handshakes.add(name.slice(0, 1), () => begun.push(name))
  }
  await settle()
  t.strictSame(begun, ['a1'])
  await settle()
  t.strictSame(begun, ['a1', 'b1'])
  for (let i = 0; i < 3; i++) await settle()
  t.strictSame(begun, ['a1', 'b1', 'a2', 'a3', 'a4'])
})

t.test('no handshake begins after a long turn, but one every 20 ms', async t => {
  let nowMs = 0
  const handshakes = new Handshakes({ monotonicMs: () => nowMs })
  let begun = 0
  for (let i = 0; i < 5; i++) handshakes.add('a', () => void begun++)
  await settle()
  t.equal(begun, 1)
  const turn = async (tookMs: number): Promise<void> => {
    nowMs += tookMs
    await settle()
  }
  for (let i = 1; i <= 3; i++) await turn(5)
  t.equal(begun, 1, 'the turns are long')
  await turn(5)
  t.equal(begun, 2, 'somebody has waited for 20 ms')
  await turn(4)
  t.equal(begun, 3, 'the turns are short again')
})
