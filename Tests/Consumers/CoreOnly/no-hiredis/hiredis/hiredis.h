#error "A program that links only SharedState must build without hiredis."
