import t from 'tap'
import { boundedWriter } from '../../../lib/cli/commands/logger.ts'

t.test('of a log that is not read a bounded part waits, and what was lost is told', async t => {
  const written: string[] = []
  const stream = {
    writableLength: 0,
    write(line: string) {
      written.push(line)
      this.writableLength += line.length
      return true
    },
  }
  const write = boundedWriter(stream, lines => written.push(`${lines} lost`))
  const line = 'x'.repeat(1000)
  for (let i = 0; i < 2000; i++) write(line)
  t.equal(written.length, 1048)
  stream.writableLength = 0
  write('again')
  t.same(written.slice(-2), ['952 lost', 'again'])
  write('and again')
  t.equal(written.at(-1), 'and again')
})
