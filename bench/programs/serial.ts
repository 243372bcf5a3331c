/**
 * Stands in the body of a request for its number; as many digits, so that all requests are of one
 * length.
 */
export const SERIAL = '########';

/** The bytes with the number in every place that `places` names. */
export function withSerial(bytes: Buffer, places: readonly number[], serial: number): Buffer {
  const digits = String(serial).padStart(SERIAL.length, '0');
  for (const place of places) bytes.write(digits, place, 'latin1');
  return bytes;
}

export function placesOfSerial(bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(SERIAL); at >= 0; at = bytes.indexOf(SERIAL, at + SERIAL.length))
    places.push(at);
  return places;
}
