import { execFileSync } from 'node:child_process'
import t from 'tap'
import { YoungRoom } from '../../../lib/cli/commands/young-room.ts'

t.test('the room grows after many collections in little time only', t => {
  const factors: number[] = []
  const room = new YoungRoom(factor => void factors.push(factor))
  const collect = (times: number, fromMs: number, everyMs: number): void => {
    for (let i = 0; i < times; i++) room.collected(fromMs + i * everyMs)
  }
  t.same(factors, [1], 'not at first')
  collect(200, 100_000, 10)
  t.same(factors, [1], 'a start has many for a short time')
  collect(2_000, 200_000, 20)
  t.same(factors, [1], 'fifty a second are few')
  collect(400, 300_000, 10)
  t.same(factors, [1, 2], 'a hundred a second are not')
  collect(400, 400_000, 100)
  t.same(factors, [1, 2, 1], 'it stays as it is when they are few again')
  room.end()
  t.same(factors, [1, 2, 1, 2], 'V8 decides afterwards')
  t.end()
})

t.test('V8 goes by it', t => {
  const module = new URL('../../../lib/cli/commands/young-room.js', import.meta.url).href
  const script = `
    const { keepYoungRoom, YoungRoom } = await import('${module}')
    const { getHeapSpaceStatistics } = await import('node:v8')
    const kept = []
    const megabytes = () => {
      for (let i = 0; i < 400_000; i++) kept.push({ i, list: [i] })
      const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
      return young.space_size / 2 ** 20
    }
    keepYoungRoom()
    const small = megabytes()
    const room = new YoungRoom()
    for (let i = 0; i <= 301; i++) room.collected(i)
    console.log(JSON.stringify([small, megabytes()]))`
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  const [small, large] = JSON.parse(said) as [number, number]
  t.ok(small <= 4, `${small} MB are kept small`)
  t.ok(large >= 2 * small, `${large} MB are room enough`)
  t.end()
})
