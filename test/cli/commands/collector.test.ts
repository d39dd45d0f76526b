import { execFileSync } from 'node:child_process'
import t from 'tap'
import { giveCollectorRoom, growthPercent } from '../../../lib/cli/commands/collector.ts'

const megabyte = 1024 ** 2

t.test('the room of a heap', t => {
  const limit = 4096 * megabyte
  t.equal(growthPercent(128 * megabyte, limit), 100, '128 MB')
  t.equal(growthPercent(2048 * megabyte, limit), 10, 'a tenth of a large one')
  t.equal(growthPercent(megabyte, limit), 200, 'twice a small one')
  t.equal(growthPercent(20 * megabyte, 64 * megabyte), 40, 'an eighth of little memory')
  t.end()
})

t.test('V8 goes by it', t => {
  const module = new URL('../../../lib/cli/commands/collector.js', import.meta.url).href
  const script = `const { giveCollectorRoom } = await import('${module}'); giveCollectorRoom(); gc(); gc()`
  const flags = ['--expose-gc', '--trace-gc-verbose', '--input-type=module', '--eval', script]
  const said = execFileSync(process.execPath, flags, { encoding: 'utf8' })
  // V8 of Node 20 says the factor beside the limit, that of Node 24 before it.
  const factors = [...said.matchAll(/\[HeapController\] (?:Limit:.*\(|factor )(\d+\.\d)/g)].map(
    ([, factor]) => factor,
  )
  t.equal(factors.at(-1), '3.0', 'a small heap may grow by twice its size')
  t.end()
})

t.test('room can be taken back', t => {
  giveCollectorRoom()()
  t.end()
})
