; What a front end hands over: a kernel that only declares Weft's functions. check_library.py fills in
; the target.
target triple = "@TRIPLE@"

declare i32 @weft_my_pe(i64)
declare i32 @weft_n_pes(i64)
declare i32 @weft_put_signal_set_block(i64, i64, i64, i64, i64, i64, i32)
declare i32 @weft_wait_until_u64_block(i64, i64, i32, i64)

; Puts data[0, count) to the next PE's data[count, 2 * count) and sets its signal to 1; then waits for
; its own.
define @KERNEL@ void @pass(i64 %context, i64 %data, i64 %signal, i64 %count) {
  %bytes = mul i64 %count, 8
  %there = add i64 %data, %bytes
  %pe = call i32 @weft_my_pe(i64 %context)
  %npes = call i32 @weft_n_pes(i64 %context)
  %after = add i32 %pe, 1
  %next = urem i32 %after, %npes
  %put = call i32 @weft_put_signal_set_block(i64 %context, i64 %there, i64 %data, i64 %bytes, i64 %signal, i64 1, i32 %next)
  %came = call i32 @weft_wait_until_u64_block(i64 %context, i64 %signal, i32 0, i64 1)
  ret void
}
