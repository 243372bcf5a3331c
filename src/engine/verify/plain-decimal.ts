const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * The one spelling of a decimal number: no exponent, no needless zeros. `undefined` for a text that
 * is no number.
 */
export function plainDecimal(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (sign === undefined || whole + fraction === '') return undefined;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const before = digits.slice(0, Math.max(0, point)).padEnd(point, '0').replace(/^0+/, '');
  const after = (point < 0 ? '0'.repeat(-point) + digits : digits.slice(point)).replace(/0+$/, '');
  if (before === '' && after === '') return '0';
  return `${sign === '-' ? '-' : ''}${before === '' ? '0' : before}${after === '' ? '' : `.${after}`}`;
}
