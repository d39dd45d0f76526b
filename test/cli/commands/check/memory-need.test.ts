import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  historyBytes,
  memoryNeed,
  sizeText,
} from '../../../../lib/cli/commands/check/upstream/memory-need.ts'

/** The rows of docs/SIZING.md: a cluster, the memory of its objects, and with whole lists. */
function rows(): readonly (readonly string[])[] {
  const text = readFileSync('docs/SIZING.md', 'utf8')
  const lines = text.split('\n').filter(line => /^\| [\d,]+ nodes: /.test(line))
  return lines.map(line => line.split('|').map(cell => cell.trim()))
}

function bytesIn(text = ''): number {
  const [, size = '', unit] = /^([\d.]+) (MiB|GiB)$/.exec(text) ?? []
  return Number(size) * 1024 ** (unit === 'GiB' ? 3 : 2)
}

const numberIn = (text: string): number => Number(text.replaceAll(',', ''))

t.test('the rule is that of docs/SIZING.md', async t => {
  t.equal(rows().length, 3)
  for (const [, cluster = '', alone, withLists] of rows()) {
    const [, pods = '', others = ''] =
      /: ([\d,]+) pods, ([\d,]+) others of 1\.5 KB/.exec(cluster) ?? []
    const sizes = [
      { objects: numberIn(pods), bytes: numberIn(pods) * 4000 },
      { objects: numberIn(others), bytes: numberIn(others) * 1500 },
    ]
    const { objectsBytes, listsBytes } = memoryNeed(sizes)
    t.ok(Math.abs(objectsBytes / bytesIn(alone) - 1) < 0.1, `${cluster}: ${sizeText(objectsBytes)}`)
    // In one form there, and in all of them here.
    t.ok(objectsBytes + listsBytes > bytesIn(withLists) * 0.95, `${cluster}: lists`)
  }
})

t.test('a history has ten minutes, and bounds', async t => {
  t.equal(historyBytes({ objects: 0, bytes: 0 }, 1), 600 * 1024)
  t.equal(historyBytes({ objects: 2, bytes: 2048 }, 1), 600 * 2048)
  t.equal(historyBytes({ objects: 1, bytes: 0 }, 1_000_000), 100_000 * 1024, 'so many changes')
  t.equal(historyBytes({ objects: 1, bytes: 1_000_000 }, 100), 256 * 1024 ** 2)
})

t.test('sizes have two or three digits', async t => {
  const sizes = [0, 512, 10_000, 1_022_000, 1_048_576, 130 * 1024 ** 2, 1.3 * 1024 ** 3]
  t.strictSame(sizes.map(sizeText), [
    '0.0 KiB',
    '0.5 KiB',
    '9.8 KiB',
    '998 KiB',
    '1.0 MiB',
    '130 MiB',
    '1.3 GiB',
  ])
})
