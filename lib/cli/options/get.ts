/** The options of `watchglass get`. */

import type { Option, ParsedOption } from './option.ts'
import { kubeconfigOptions } from './proxy.ts'
import { given, oneOf } from './rules.ts'

export const serverOption: ParsedOption<URL> = {
  name: 'server',
  value: 'URL',
  help: 'The address of Watchglass: that of the kubeconfig if it is left out. A server without TLS is asked without credentials, one with TLS with those of the kubeconfig.',
  parse: text =>
    /^https?:\/\/[^/?#]+/.test(text) && URL.canParse(text) ? new URL(text) : undefined,
  wrong: 'is not an http or https URL',
}

export const limitOption: ParsedOption<number> = {
  name: 'limit',
  value: 'N',
  help: 'At most so many rows. Default: all; 50 with --watch, which takes up to 1000.',
  parse: text => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
  wrong: 'is not a number of rows',
}

export const outputOption: ParsedOption<'table' | 'json' | 'csv'> = {
  name: 'output',
  short: 'o',
  value: 'FORM',
  choices: ['table', 'json', 'csv'],
  help: 'The form: table, json or csv. Default: a table on a terminal, JSON elsewhere.',
  ...oneOf('table', 'json', 'csv'),
}

/** The options that are parameters of the view, too. */
export const viewOptions: readonly Option[] = [
  {
    name: 'columns',
    value: 'COLUMNS',
    help: 'The columns, separated by commas: names as kubectl prints them, in lower case (name,status,restarts), wide for all, namespace, labels.KEY, annotations.KEY, or TITLE:JSONPATH. Default: those of kubectl get.',
  },
  {
    name: 'where',
    value: 'EXPRESSION',
    help: "Only rows for which it holds: comparisons of columns, joined by and, or, not and parentheses. For example 'restarts>5 and (status!=Running or age<1h)'.",
  },
  {
    name: 'search',
    value: 'TEXT',
    help: 'Only rows with this text in a column, the name or the namespace, in upper or lower case.',
  },
  {
    name: 'selector',
    short: 'l',
    value: 'SELECTOR',
    help: 'Only objects with these labels, as for kubectl.',
  },
  {
    name: 'field-selector',
    value: 'SELECTOR',
    help: 'Only objects with these fields, as for kubectl.',
  },
  {
    name: 'sort',
    value: 'COLUMNS',
    takesDash: true,
    help: 'The order: columns, separated by commas, each with a dash before it for the largest first. --sort -age shows the oldest first.',
  },
  {
    name: 'count-by',
    value: 'COLUMNS',
    excludes: [
      { that: given('sort'), because: 'groups are in the order of their counts' },
      { that: given('limit'), because: 'all groups are counted' },
      { that: given('columns'), because: 'the columns are those that are counted by' },
    ],
    help: 'Counts objects by one to three columns in place of showing them.',
  },
]

export const getOptions: readonly Option[] = [
  serverOption,
  ...kubeconfigOptions,
  {
    name: 'namespace',
    short: 'n',
    value: 'NAME',
    excludes: [{ that: given('all-namespaces'), because: 'it is one namespace, or all' }],
    help: 'The namespace. Default: that of the kubeconfig, or default.',
  },
  { name: 'all-namespaces', short: 'A', help: 'Objects of all namespaces.' },
  ...viewOptions,
  limitOption,
  outputOption,
  {
    name: 'watch',
    short: 'w',
    excludes: [
      {
        that: { text: '--output csv', holds: values => values.text('output') === 'csv' },
        because: 'rows of CSV cannot change',
      },
    ],
    help: 'Goes on: shows the table again whenever it changes, or prints what has changed as lines of JSON.',
  },
]
