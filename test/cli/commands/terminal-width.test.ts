import t from 'tap'
import { terminalWidth, wrapCommand, wrapRow } from '../../../lib/cli/commands/terminal-width.ts'

t.test('text has the width of the terminal, within reason', async t => {
  t.equal(terminalWidth({ isTTY: true, columns: 80 }), 80)
  t.equal(terminalWidth({ isTTY: true, columns: 20 }), 60)
  t.equal(terminalWidth({ isTTY: true, columns: 300 }), 120)
  t.equal(terminalWidth({ columns: 80 }), 100, 'a file')
})

t.test('a command is wrapped so that a shell still takes it', async t => {
  const command = "  then   kubectl create -o jsonpath='{.a} {.b}' deployment web --image nginx"
  t.strictSame(wrapCommand(command, { width: 60, indent: 9 }), [
    "  then   kubectl create -o jsonpath='{.a} {.b}' deployment \\",
    '         web --image nginx',
  ])
  t.strictSame(wrapCommand(command, { width: 100, indent: 9 }), [command])
  const word = `kubectl ${'x'.repeat(80)} get`
  t.strictSame(wrapCommand(word, { width: 60, indent: 2 }), [
    'kubectl \\',
    `  ${'x'.repeat(80)} \\`,
    '  get',
  ])
})

t.test('a row is wrapped beside its first column', async t => {
  t.strictSame(wrapRow('  holds', '1000 pods, 50 nodes, 7 more kinds', { width: 24, indent: 9 }), [
    '  holds  1000 pods, 50',
    '         nodes, 7 more',
    '         kinds',
  ])
  t.strictSame(wrapRow('  --long-option', 'says it', { width: 24, indent: 9 }), [
    '  --long-option',
    '         says it',
  ])
})
